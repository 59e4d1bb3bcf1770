// A call from the caller's side: interceptors, attempts, and the body where all of it is wanted.

#include "http/client/call_state.hpp"
#include "http/client/running_call.hpp"
#include "http/message/token.hpp"

#include <coracle/http/request.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_any.hpp>

namespace coracle::http::detail {
namespace {

std::expected<void, error> make_parts(call_state& c, loop& l) {
    try {
        auto made = c.more().parts->make({l.random(), l.random()});
        if (!is_field_value(made.type)) {
            error e(std::errc::invalid_argument, "multipart");
            return std::unexpected(std::move(e.on(made.type)));
        }
        c.body = std::move(made.content);
        c.set_more().type = std::move(made.type);
        c.repeatable = made.again;
    } catch (const exception& e) {
        return std::unexpected(e.error());
    }
    return {};
}

/// `started`: in place of now.
task<call_result> run_call(call_state* c, std::optional<time_point> started = std::nullopt) {
    if (c->problem() != nullptr) co_return std::unexpected(*c->problem());
    client_shard* const here = c->core->here();
    if (here == nullptr) co_return std::unexpected(error(errc::shutting_down, "request"));
    ++here->counts.calls;
    if (c->more().parts != nullptr) {
        auto made = make_parts(*c, here->owner());
        if (!made) co_return std::unexpected(std::move(made).error());
    }
    running_call call(*here, *c, started.value_or(here->owner().now()));
    auto ready = call.prepare();
    if (!ready) co_return call.complete(std::unexpected(std::move(ready).error()));
    for (;;) {
        call_result a = co_await call.attempt();
        const auto v = call.judge(a);
        if (v == running_call::verdict::done) co_return call.complete(std::move(a));
        auto goes_on = co_await call.before_next(v, a);
        if (goes_on) continue;
        // Without an error of its own it is the answer that there was.
        if (!goes_on.error().code()) co_return call.complete(std::move(a));
        co_return call.complete(std::unexpected(std::move(goes_on).error()));
    }
}

/// RFC 9110 section 9.2.2: what may be asked twice.
bool may_hedge(const call_state& c) noexcept {
    return !c.has_body &&
           (c.method == method::get || c.method == method::head || c.method == method::options);
}

/// What the two copies of a request know of each other.
struct hedge {
    time_point started{};  ///< by the call: its limits hold for the second copy too
    bool second_sent = false;
    bool one_failed = false;
};

/// The copy that ends without an answer leaves the decision to the other: `when_any` takes the
/// first that ends, and cancels this wait.
task<call_result> give_up(hedge* h, call_result failed) {
    const bool last = h->one_failed || !h->second_sent;
    h->one_failed = true;
    if (last || coracle::detail::is_cancellation(failed.error())) co_return std::move(failed);
    auto waiting = forever();
    auto waited = co_await as_result(waiting);
    co_return std::unexpected(std::move(waited).error());
}

task<call_result> run_copy(call_state* c, hedge* h) {
    auto running = run_call(c, h->started);
    auto answer = co_await std::move(running);
    if (answer) co_return std::move(answer);
    auto failing = give_up(h, std::move(answer));
    co_return co_await std::move(failing);
}

task<call_result> run_after(call_state* c, hedge* h, duration delay) {
    auto sleeping = sleep_for(delay);
    auto slept = co_await as_result(sleeping);
    if (!slept) co_return std::unexpected(std::move(slept).error());
    h->second_sent = true;
    auto running = run_copy(c, h);
    co_return co_await std::move(running);
}

/// The first of two answers; an error when neither comes.
task<call_result> run_hedged(call_state* c, duration delay) {
    hedge h;
    h.started = c->turn != nullptr ? c->turn->since() : loop::current()->now();
    auto first = when_any(run_copy(c, &h), run_after(c, &h, delay));
    auto won = co_await std::move(first);
    co_return std::move(won.value);
}

task<call_result> send_call(call_state* c) {
    client_shard* const here = c->core->here();
    const duration delay = here != nullptr ? hedge_delay(*c, *here) : duration::zero();
    if (delay > duration::zero()) return run_hedged(c, delay);
    if (c->turn != nullptr) return run_call(c, c->turn->since());
    return run_call(c);
}

/// The call that a request passes through the interceptors for.
struct call_of_request {
    call_state* call;
};

/// What the innermost of them reaches.
task<response> send_intercepted(request& req) {
    call_state* const c = req.data<call_of_request>()->call;
    c->fields = req.fields();
    operation<response> sending(send_call(c));
    co_return co_await std::move(sending);
}

/// The body of an answer that an interceptor made, or of which it changed the body.
class own_answer final : public response_extension, public body_source {
public:
    own_answer(std::string_view bytes, const answer_info* info)
        : bytes_(bytes), rest_(bytes_), body_(this) {
        if (info != nullptr) info_ = std::make_unique<answer_info>(*info);
    }
    received_body* received() noexcept override { return &body_; }
    answer_info* info() noexcept override { return info_.get(); }
    /// It is in memory already.
    std::size_t body_limit() const noexcept override { return bytes_.size(); }

    task<std::expected<std::string_view, error>> read() override {
        co_return std::exchange(rest_, std::string_view());
    }
    std::optional<std::uint64_t> length() const noexcept override { return rest_.size(); }

private:
    std::string bytes_;
    std::string_view rest_;
    received_body body_;
    std::unique_ptr<answer_info> info_;
};

/// The body of what came from a server is never in memory, unless it has ended: such a one is of an
/// interceptor, also when it is empty.
void let_be_read(response& r) {
    if (!r.body().in_memory()) return;
    received_body* const came = r.extension() == nullptr ? nullptr : r.extension()->received();
    const bool goes_on = came != nullptr && !came->ended();
    if (r.body().bytes().empty() && !goes_on) return;
    r.set_extension(std::make_unique<own_answer>(r.body().bytes(), r.info()));
}

task<call_result> through_interceptors(call_state* c) {
    if (c->problem() != nullptr) co_return std::unexpected(*c->problem());
    auto where = url::parse(c->address);
    if (!where) co_return std::unexpected(std::move(where).error());
    request req;
    req.assign({.method = c->method,
                .method_text = c->method_text(),
                .target = c->address,
                .path = where->path(),
                .query = where->query(),
                .host = where->authority()});
    req.fields() = c->fields;
    req.set_data(call_of_request{c});
    response r;
    task<response> pending;
    const auto work = [&]() -> task<response> {
        if (c->core->chain().call(req, r, pending)) co_return std::move(r);
        co_return co_await std::move(pending);
    };
    auto done = co_await as_result(work());
    if (!done) co_return std::unexpected(std::move(done).error());
    let_be_read(*done);
    co_return *std::move(done);
}

full_response whole_of(response& r, std::string&& body) {
    full_response whole;
    whole.status = r.status();
    whole.fields = std::move(r.fields());
    whole.body = std::move(body);
    whole.trailers = r.trailers();
    if (response_extension* const rest = r.extension()) {
        if (answer_info* const info = rest->info()) whole.info = std::move(*info);
    }
    return whole;
}

}  // namespace

duration hedge_delay(const call_state& c, client_shard& here) {
    if (!may_hedge(c)) return duration::zero();
    return (c.own() != nullptr ? *c.own() : here.options()->values).retry.hedge_after;
}

handler innermost_handler() {
    return [](request& req) -> task<response> { return send_intercepted(req); };
}

task<call_result> make_call(call_state* c) {
    return c->core->chain() ? through_interceptors(c) : send_call(c);
}

task<std::expected<full_response, error>> make_full_call(call_state* c) {
    operation<response> sending(make_call(c));
    auto r = co_await as_result(sending);
    if (!r) co_return std::unexpected(std::move(r).error());
    auto reading = r->text();
    auto text = co_await as_result(reading);
    if (!text) co_return std::unexpected(std::move(text).error());
    co_return whole_of(*r, *std::move(text));
}

}  // namespace coracle::http::detail
