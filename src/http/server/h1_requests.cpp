// The reading of requests from a connection of HTTP/1.

#include "http/exchange/run_exchange.hpp"
#include "http/h2/frame.hpp"
#include "http/server/canonical_path.hpp"
#include "http/server/h1_connection.hpp"
#include "http/server/served_scheme.hpp"

namespace coracle::http::detail {

using counters = server_counters;

/// Returns true if the received bytes are a beginning of the HTTP/2 preface.
bool h1_connection::begins_http2() const noexcept {
    const std::string_view bytes = into.view();
    const std::size_t n = std::min(bytes.size(), h2::client_preface.size());
    return may_speak_http2() && bytes.substr(0, n) == h2::client_preface.substr(0, n);
}

/// Over TLS, ALPN has decided.
bool h1_connection::may_speak_http2() const noexcept {
    return shard_->options().versions != http_versions::http1 && tls() == nullptr;
}

/// Returns true if the first request offers to go on in HTTP/2, and this server lets clients. Then
/// the offer is in the shard, and refers to the received bytes.
bool h1_connection::accepts_offer() {
    if (!shard_->options().h2c_upgrade || !may_speak_http2()) return false;
    const h2_limits& limits = shard_->options().limits.h2;
    auto offer = read_h2c_offer(shard_->head);
    const bool fits = offer && offer->request.cost <= limits.head &&
                      offer->request.fields.size() <= limits.fields;
    if (fits) shard_->offer = std::move(offer);
    return fits;
}

h1_connection::step h1_connection::process() {
    if (requests_ == 0 && begins_http2()) {
        return into.size() < h2::client_preface.size() ? step::receive : step::hand_over;
    }
    std::uint32_t handled = 0;
    while (!into.empty()) {
        const auto parsed = parser_.parse(into.view(), shard_->head, shard_->head_limits());
        if (parsed.status == h1::parse_status::need_more) return step::receive;
        if (parsed.status == h1::parse_status::error) return refuse(parsed.error);
        if (requests_ == 0 && shard_->head.upgrade && accepts_offer()) {
            into.consume(parsed.consumed);
            return step::hand_over;
        }
        const step next = begin_exchange(parsed.consumed);
        if (next != step::receive) return next;
        if (++handled == shard_->options().limits.h1.pipelined && !into.empty()) {
            shard_->count(&counters::pipeline_yields);
            return step::yield;
        }
    }
    return step::receive;
}

h1_connection::step h1_connection::refuse(h1::parse_error why) {
    const status shown = h1::status_for(why);
    switch (shown) {
        case status::request_header_fields_too_large:
            shard_->count(&counters::head_too_large);
            break;
        case status::uri_too_long: shard_->count(&counters::target_too_long); break;
        default: shard_->count(&counters::malformed); break;
    }
    log(log_level::debug, h1::describe(why));
    return refuse_with(shown, h1::describe(why));
}

h1_connection::step h1_connection::refuse_late() {
    return refuse_with(status::request_timeout, "the head of the request took too long");
}

/// Sends an error response without a request, and ends the connection.
h1_connection::step h1_connection::refuse_with(status shown, std::string_view why, method asked) {
    h1_exchange* e = shard_->h1_exchanges.take();
    exchange_ = e;
    e->started = shard_->owner().now();
    request::parts nothing;
    nothing.method = asked;
    nothing.peer = &peer();
    e->req.assign(nothing);
    e->res = shard_->refusal(shown, why);
    end_behind(ending::linger);
    write_in_memory(*e);
    shard_->responded(*e, peer());
    release(std::exchange(exchange_, nullptr));
    return step::close;
}

h1_connection::step h1_connection::begin_exchange(std::size_t head_size) {
    h1_exchange* e = shard_->h1_exchanges.take();
    exchange_ = e;
    shard_->count(&counters::requests);
    ++requests_;
    phase_ = phase::idle;  // the next head has its own timeout
    const std::string_view scheme = shard_->head.scheme;
    if (!scheme.empty() && !serves_scheme(scheme, tls() != nullptr || by_gateway_)) {
        exchange_ = nullptr;
        release(e);
        shard_->count(&counters::malformed);
        return refuse_with(status::misdirected_request,
                           "the scheme of the target is not served here", shard_->head.method);
    }
    if (!prepare(*e, head_size)) {
        exchange_ = nullptr;
        release(e);
        // Its client takes any 2xx for a tunnel, and what comes behind would be requests here.
        if (shard_->head.method == method::connect) {
            return refuse_with(status::not_implemented, "there are no tunnels here");
        }
        shard_->count(&counters::malformed);
        return refuse_with(status::bad_request, "the path is not a valid encoding",
                           shard_->head.method);
    }
    const bool ready = shard_->call_handler(*e);
    if (!ready || !e->body.complete() || !fits(*e)) return step::exchange;
    write_in_memory(*e);
    shard_->responded(*e, peer());
    exchange_ = nullptr;
    release(e);
    return keeps() ? step::receive : step::close;
}

bool h1_connection::prepare(h1_exchange& e, std::size_t head_size) {
    h1::request_head& head = shard_->head;
    arena& memory = e.req.memory();
    const char* const from = into.data();
    const std::string_view copy = memory.copy({from, head_size});
    h1::rebase(head, from, head_size, copy.data());
    into.consume(head_size);

    e.started = shard_->owner().now();
    e.keep_alive = head.keep_alive;
    const auto path = canonical_path(head.path, memory);
    if (!path) return false;
    e.req.assign({.method = head.method,
                  .version = head.version,
                  .method_text = head.method_text,
                  .target = head.target,
                  .path = *path,
                  .query = head.query,
                  .host = head.host,
                  .peer = &peer(),
                  .connection = this,
                  .exchange = this});
    e.req.fields().adopt(head.fields.data(), head.fields.size());
    if (head.framing != h1::body_framing::none) {
        e.body.begin(*this, head.framing, head.content_length, head.expect_continue);
        e.req.set_body(received_body(&e.body));
    }
    return true;
}

void h1_connection::release(h1_exchange* e) noexcept {
    if (e == nullptr) return;
    e->clear();
    e->body.end();
    shard_->h1_exchanges.give_back(e);
}

task<bool> h1_connection::finish_exchange() {
    bool ok = false;
    {
        gauge_entry request(shard_->counters(), &counters::in_flight);
        gauge_entry connection(shard_->counters(), &counters::active);
        h1_exchange& e = *exchange_;
        ok = co_await carry_out(e);
        if (goes_on_upgraded()) {
            prepare_upgraded(std::move(request), std::move(connection));
            co_return false;
        }
        if (ok && !e.body.complete()) ok = co_await discard_body(e);
    }
    // One that is copied into the output at once is never large.
    exchange_->drop_large_response();
    release(std::exchange(exchange_, nullptr));
    co_return ok&& keeps();
}

task<bool> h1_connection::carry_out(h1_exchange& e) {
    phase_ = phase::handler;
    disarm();
    timed_out_ = false;
    if (may_wait(e) && !output_.empty() && !flush_now()) {
        // The responses to earlier requests must not wait for this one.
        const bool flushed = co_await flush();
        if (!flushed) co_return false;
    }
    co_return co_await run_exchange(e, *this);
}

task<bool> h1_connection::discard_body(h1_exchange& e) {
    if (keeps() && !e.body.continue_is_due()) {
        const auto dropped = co_await drop_body(e);
        if (dropped) co_return true;
    }
    // RFC 9112 section 9.3: what is left of the body must not be taken for the next request.
    if (!e.body.complete()) shard_->count(&counters::bodies_not_discarded);
    end_behind(ending::linger);
    co_return false;
}

/// Reads and drops the rest of a body, within the bounds for that.
task<std::expected<void, error>> h1_connection::drop_body(h1_exchange& e) {
    const server_options& o = shard_->options();
    const std::uint64_t before = e.body.received();
    const time_point until = shard_->owner().now() + o.timeouts.linger;
    while (!e.body.complete()) {
        if (e.body.exceeds(o.limits.discard) || e.body.received() - before > o.limits.discard) {
            co_return std::unexpected(error(make_error_code(status::content_too_large), "body"));
        }
        e.body.set_patience(std::min(o.timeouts.linger_silence, until - shard_->owner().now()));
        auto piece = co_await e.body.read();
        if (!piece) co_return std::unexpected(std::move(piece).error());
        if (shard_->owner().now() >= until && !e.body.complete()) {
            co_return std::unexpected(error(std::errc::timed_out, "body"));
        }
    }
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> h1_connection::receive_more_body(h1_request_body& body) {
    if (!writes()) {
        const bool flushed = co_await flush();
        if (!flushed) {
            co_return std::unexpected(error(std::errc::broken_pipe, "body", coracle::phase::send));
        }
    }
    const phase before = phase_;
    const time_point since = shard_->owner().now();
    phase_ = phase::body;
    timed_out_ = false;
    // A full block means that much is coming: a larger one saves system calls.
    const bool bulk = body.received() > buffer::default_capacity;
    net::receive bytes = stream_->receive(bulk ? 64 * 1024 : buffer::default_capacity);
    {
        const wait_mark mark(wait_, bytes, *this);
        arm_in(body.patience());
        co_await coracle::detail::completion(bytes);
    }
    back_to(before);
    body.waited(shard_->owner().now() - since);
    auto received = bytes.outcome();
    if (!received) co_return std::unexpected(body_failure(std::move(received).error()));
    if (!take_input(*received)) {
        // After lost bytes nothing can follow.
        body_is_broken();
        shard_->count(&counters::out_of_memory);
        co_return std::unexpected(error(std::errc::not_enough_memory, "body"));
    }
    if (body.too_slow()) {
        shard_->count(&counters::body_too_slow);
        end_behind(ending::linger);
        co_return std::unexpected(error(errc::too_slow, "body", coracle::phase::receive));
    }
    co_return std::expected<void, error>();
}

error h1_connection::body_failure(error e) {
    end_behind(ending::close);
    if (!timed_out_) {
        // The client closed the connection within its body.
        client_gone_ = client_gone_ || !coracle::detail::is_cancellation(e);
        return e;
    }
    shard_->count(&counters::body_timeouts);
    end_behind(ending::linger);
    return {std::errc::timed_out, "body", coracle::phase::receive};
}

}  // namespace coracle::http::detail
