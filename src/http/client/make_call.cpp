// A call from the caller's side: interceptors, attempts, and reading the whole body.

#include "http/body/text_source.hpp"
#include "http/client/call_state.hpp"
#include "http/client/intercepted_request.hpp"
#include "http/client/running_call.hpp"
#include "http/message/token.hpp"

#include <coracle/http/request.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_any.hpp>

namespace coracle::http::detail {
namespace {

/// Returns true if the body is still to be made of its parts: what interceptors have seen is sent.
bool has_parts_to_make(const call_state& c) noexcept {
    return c.more().parts != nullptr && !c.more().has_made_parts;
}

std::expected<void, error> make_parts(call_state& c, loop& l) {
    try {
        auto made = c.more().parts->make({l.random(), l.random()});
        if (!is_field_value(made.type)) {
            error e(std::errc::invalid_argument, "multipart");
            return std::unexpected(std::move(e.on(made.type)));
        }
        c.body = std::move(made.content);
        c.set_more().type = std::move(made.type);
        c.set_more().has_made_parts = true;
        c.repeatable = made.again;
    } catch (const exception& e) {
        return std::unexpected(e.error());
    }
    return {};
}

/// `started`: the start time, if not now. `pair`: it is one of two copies; the first attempt of the
/// second one, `is_second`, begins now all the same.
task<call_result> run_call(call_state* c, std::optional<time_point> started = std::nullopt,
                           hedged_pair* pair = nullptr, bool is_second = false) {
    if (c->problem() != nullptr) co_return std::unexpected(*c->problem());
    client_shard* const here = c->core->here();
    if (here == nullptr) co_return std::unexpected(error(errc::shutting_down, "request"));
    ++here->counts.calls;
    if (has_parts_to_make(*c)) {
        auto made = make_parts(*c, here->owner());
        if (!made) {
            ++here->counts.failed;
            co_return std::unexpected(std::move(made).error());
        }
    }
    const time_point now = here->owner().now();
    const time_point start = started.value_or(now);
    running_call call(*here, *c, {start, is_second ? now : start, pair, is_second});
    auto ready = call.prepare();
    if (!ready) {
        call.complete_with(ready.error());
        co_return std::unexpected(std::move(ready).error());
    }
    for (;;) {
        call_result a = co_await call.attempt();
        if (call.responded_early()) co_return std::move(a);
        const auto v = call.judge(a);
        if (v != running_call::verdict::done) {
            auto goes_on = co_await call.before_next(v, a);
            if (goes_on) continue;
            // Without an error the response of the attempt is the result.
            if (goes_on.error().code()) a = std::unexpected(std::move(goes_on).error());
        }
        if (a) {
            call.complete_with(*a);
        } else {
            call.complete_with(a.error());
        }
        co_return std::move(a);
    }
}

/// Returns true if the request may be sent twice (RFC 9110 section 9.2.2). Both copies would tell
/// one function of their interim and earlier responses, and of two tunnels one would be served for
/// nobody.
bool may_hedge(const call_state& c) noexcept {
    return !c.has_body && !c.more().may_be_tunnel && !c.more().on_interim && !c.more().on_earlier &&
           (c.method == method::get || c.method == method::head || c.method == method::options);
}

/// The state that two copies of a request share.
struct hedge {
    time_point started{};  ///< the start of the call: its timeouts apply to the second copy too
    bool second_sent = false;
    bool one_failed = false;
    hedged_pair pair;
};

/// Waits forever after a copy has failed, so that the other decides: `when_any` takes the first one
/// that ends, and cancels this wait.
task<call_result> give_up(hedge* h, call_result failed) {
    const bool last = h->one_failed || !h->second_sent;
    h->one_failed = true;
    if (last || coracle::detail::is_cancellation(failed.error())) co_return std::move(failed);
    auto waiting = forever();
    auto waited = co_await as_result(waiting);
    co_return std::unexpected(std::move(waited).error());
}

task<call_result> run_copy(call_state* c, hedge* h) {
    auto running = run_call(c, h->started, &h->pair, h->second_sent);
    auto result = co_await std::move(running);
    if (result) co_return std::move(result);
    auto failing = give_up(h, std::move(result));
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

/// Returns the first of two responses; an error when both copies fail.
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

/// The handler that the innermost interceptor calls.
task<response> send_intercepted(request& req) {
    operation<response> sending(send_call(&intercepted_request::of(req).changed()));
    co_return co_await std::move(sending);
}

/// The body of a response that an interceptor made or changed.
class intercepted_response final : public response_extension, public detail::text_source {
public:
    intercepted_response(std::string_view bytes, const response_info* info)
        : text_source(std::string(bytes)), body_(this) {
        if (info != nullptr) info_ = std::make_unique<response_info>(*info);
    }
    received_body* received() noexcept override { return &body_; }
    response_info* info() noexcept override { return info_.get(); }
    /// The body is in memory already.
    std::size_t body_limit() const noexcept override { return text().size(); }

private:
    received_body body_;
    std::unique_ptr<response_info> info_;
};

/// Makes the body of an interceptor readable, even an empty one. Such a body is in memory, while
/// that of a server is not, unless it has ended.
void let_be_read(response& r) {
    if (!r.body().in_memory()) return;
    received_body* const came = r.extension() == nullptr ? nullptr : r.extension()->received();
    const bool goes_on = came != nullptr && !came->ended();
    if (r.body().bytes().empty() && !goes_on) return;
    r.set_extension(std::make_unique<intercepted_response>(r.body().bytes(), r.info()));
}

task<call_result> through_interceptors(call_state* c) {
    if (c->problem() != nullptr) co_return std::unexpected(*c->problem());
    client_shard* const here = c->core->here();
    if (here == nullptr) co_return std::unexpected(error(errc::shutting_down, "request"));
    auto where = target_url(*c, *here);
    if (!where) co_return std::unexpected(std::move(where).error());
    if (has_parts_to_make(*c)) {
        auto made = make_parts(*c, here->owner());
        if (!made) co_return std::unexpected(std::move(made).error());
    }
    intercepted_request passed(*c, *std::move(where));
    request& req = passed.seen();
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
    const fields& trailers = r.trailers();
    if (trailers.size() != 0) whole.trailers = trailers;
    if (response_extension* const rest = r.extension()) {
        if (response_info* const info = rest->info()) whole.info = std::move(*info);
    }
    return whole;
}

}  // namespace

duration hedge_delay(const call_state& c, client_shard& here) {
    const client_options& o = c.own() != nullptr ? *c.own() : here.options()->values;
    const duration after = o.retry.hedge_after;
    return after > duration::zero() && may_hedge(c) ? after : duration::zero();
}

handler innermost_handler() {
    return [](request& req) -> task<response> { return send_intercepted(req); };
}

task<call_result> make_call(call_state* c) {
    return c->core->chain() ? through_interceptors(c) : send_call(c);
}

task<std::expected<void, error>> make_duplex_call(owned_call owned) {
    operation<response> sending(make_call(owned.get()));
    auto r = co_await as_result(sending);
    if (!r) co_return std::unexpected(std::move(r).error());
    auto respond = std::exchange(owned->extras->on_response, nullptr);
    if (!respond) co_return std::expected<void, error>();
    auto running = respond(*r);
    co_return co_await as_result(std::move(running));
}

task<std::expected<full_response, error>> make_full_call(call_state* c, owned_call) {
    operation<response> sending(make_call(c));
    auto r = co_await as_result(sending);
    if (!r) co_return std::unexpected(std::move(r).error());
    auto reading = r->text();
    auto text = co_await as_result(reading);
    if (!text) co_return std::unexpected(std::move(text).error());
    co_return whole_of(*r, *std::move(text));
}

}  // namespace coracle::http::detail
