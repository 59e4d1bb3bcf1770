#include "http/proxy/relayed_call.hpp"

#include "http/middleware/active_span.hpp"

#include <coracle/runtime/when_any.hpp>

#include <memory>
#include <optional>

namespace coracle::http::detail {
namespace {

/// The call, whose response one task takes while another makes it.
class relay {
public:
    /// `span`: of the handler, if it has one.
    relay(call c, exchange_scope& beside, trace_span* span)
        : call_(std::move(c)), beside_(&beside), span_(span) {}

    event& settled() noexcept { return settled_; }
    std::expected<response, error> take() { return std::move(came_); }

    /// Ends with the exchange, also before there is a response: then nobody waits for it any more.
    static task<> run(std::shared_ptr<relay> self) {
        const auto* const frame = co_await own_frame();
        const span_loan loan(*self);
        if (self->span_ != nullptr) self->lent_.emplace(frame, *self->span_);
        auto either = when_any(make(self.get()), self->beside_->response_over.wait());
        auto ended = co_await as_result(either);
        if (!ended) self->settle(std::unexpected(std::move(ended).error()));
    }

    /// Ends the use of the handler's span with the frame that this is in.
    class span_loan {
    public:
        explicit span_loan(relay& r) noexcept : of_(r) {}
        span_loan(const span_loan&) = delete;
        span_loan& operator=(const span_loan&) = delete;
        ~span_loan() { of_.lent_.reset(); }

    private:
        relay& of_;
    };

private:
    static task<> make(relay* self) {
        const auto take = [self](response& r) { return hold(self, &r); };
        auto calling = std::move(self->call_).duplex(take);
        auto made = co_await as_result(calling);
        if (!made) self->settle(std::unexpected(std::move(made).error()));
    }

    /// Hands the response out, and lets the request go on until that was sent.
    static task<> hold(relay* self, response* r) {
        self->settle(std::move(*r));
        co_await self->beside_->response_over.wait();
    }

    void settle(std::expected<response, error> r) {
        if (settled_.is_set()) return;
        came_ = std::move(r);
        settled_.set();
    }

    call call_;
    exchange_scope* beside_;
    trace_span* span_;
    std::optional<announced_span> lent_;
    event settled_;
    std::expected<response, error> came_{std::unexpect, error()};
};

}  // namespace

task<std::expected<response, error>> relayed_call(call c, exchange_scope* beside) {
    const auto* const frame = co_await own_frame();
    auto shared =
        std::make_shared<relay>(std::move(c), *beside, spans_here::of_this_loop().around(frame));
    const relay::span_loan loan(*shared);
    const auto run = [shared] { return relay::run(shared); };
    beside->tasks->spawn(run, "request body");
    auto waiting = shared->settled().wait();
    auto waited = co_await as_result(waiting);
    if (!waited) co_return std::unexpected(std::move(waited).error());
    co_return shared->take();
}

}  // namespace coracle::http::detail
