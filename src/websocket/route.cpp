#include "base/ascii.hpp"
#include "http/exchange/guarded_call.hpp"
#include "http/forwarded/origin.hpp"
#include "websocket/engine.hpp"
#include "websocket/handshake.hpp"

#include <coracle/runtime/spawn.hpp>
#include <coracle/websocket/route.hpp>

namespace coracle::websocket::detail {

struct route_state final : settings {
    websocket::origins origins;
    std::vector<std::string> subprotocols;
};

std::shared_ptr<route_state> make_route_state(route_options o) {
    for (const std::string& origin : o.origins.listed()) {
        // Sandboxed frames and pages in files send "null" (RFC 6454 section 7.1).
        if (origin == "null" || http::detail::is_origin(coracle::detail::lower(origin))) continue;
        // It would match none, and nobody would know why.
        throw_exception(error(std::errc::invalid_argument, "websocket::origins").on(origin));
    }
    auto s = std::make_shared<route_state>();
    s->options = static_cast<const websocket::options&>(o);
    s->origins = std::move(o.origins);
    s->subprotocols = std::move(o.subprotocols);
    return s;
}

counters counters_of(const route_state& s) noexcept {
    return s.counts.read();
}

namespace {

constexpr std::string_view version = "13";

/// The result of a handshake with a client.
struct agreement {
    std::shared_ptr<route_state> state;
    std::optional<deflate_agreement> deflate;
    std::string subprotocol;
    http::request* request = nullptr;
    connection_function run;
};

http::response refuse(route_state& s, http::status code, std::string_view why) {
    s.counts.add(&counters::refused);
    return http::response(code, std::string(why));
}

/// Returns whether the exception that left a handler is the failure of the connection itself.
bool is_of_connection(const std::exception_ptr& thrown, const engine& e) {
    try {
        std::rethrow_exception(thrown);
    } catch (const exception& x) {
        if (e.failure().code() && x.error().code() == e.failure().code()) return true;
        return !e.is_open() && x.error() == std::errc::broken_pipe;
    } catch (...) {
        return false;
    }
}

void note_end_of_handler(engine& e, const std::exception_ptr& thrown, bool stopped) {
    if (thrown != nullptr && !is_of_connection(thrown, e)) {
        e.counts().add(&counters::handler_errors);
        coracle::detail::log_unhandled(e.home(), "websocket handler", thrown);
        e.close(close_code::internal_error, {});
        return;
    }
    e.close(stopped ? close_code::going_away : close_code::normal, {});
}

/// Nothing may throw from the beginning of the engine to its end: the stream is lent.
task<> serve(http::upgraded_connection& up, agreement& agreed) {
    const auto e = std::make_shared<engine>(up.stream.owner(), role::server, agreed.state,
                                            agreed.deflate, std::move(agreed.subprotocol));
    connection ws(e, agreed.request);
    task<> work = agreed.run(ws);
    e->begin(up.stream, std::move(up.received));
    if (up.drain != nullptr) e->close_at(*up.drain);
    http::detail::guarded_call<void> call(std::move(work), e->handler());
    co_await call;
    note_end_of_handler(*e, call.exception(), call.was_stopped());
    over_wait rest(*e);
    co_await rest;
    e->leave_loop();
}

}  // namespace

http::response accept(http::request& req, const std::shared_ptr<route_state>& s,
                      connection_function run) {
    const http::fields& fields = req.fields();
    // RFC 8441 section 5: over HTTP/2 there is no key.
    const bool has_key = req.version() <= http::version::http_1_1;
    const std::string_view key = req.header("Sec-WebSocket-Key");
    const bool offers = fields.has_token(http::field_id::upgrade, "websocket");
    if (offers && req.header("Sec-WebSocket-Version") != version) {
        s->counts.add(&counters::refused);
        http::response r(http::status::upgrade_required, "only version 13 of WebSocket\n");
        // A 426 must name a protocol in Upgrade, which HTTP/2 has not (RFC 9113 section 8.6).
        if (has_key) r.set("Upgrade", "websocket");
        if (!has_key) r.set_status(http::status::bad_request);
        r.set("Sec-WebSocket-Version", version);
        return r;
    }
    if (offers && has_key && !is_key(key)) {
        return refuse(*s, http::status::bad_request, "Sec-WebSocket-Key is no key\n");
    }
    if (offers && !is_allowed(req, s->origins)) {
        s->counts.add(&counters::origin);
        return http::response(http::status::forbidden, "not from this origin\n");
    }
    auto chosen =
        choose_deflate(joined(fields, "Sec-WebSocket-Extensions"), s->options.compression);
    if (offers && chosen.malformed) {
        return refuse(*s, http::status::bad_request, "Sec-WebSocket-Extensions is no list\n");
    }
    agreement agreed;
    agreed.state = s;
    agreed.deflate = chosen.agreement;
    agreed.subprotocol =
        choose_subprotocol(joined(fields, "Sec-WebSocket-Protocol"), s->subprotocols);
    agreed.request = &req;
    agreed.run = std::move(run);
    const std::string subprotocol = agreed.subprotocol;
    auto serve_it = [a = std::move(agreed)](http::upgraded_connection& up) mutable -> task<> {
        return serve(up, a);
    };
    http::response r = http::upgrade("websocket", std::move(serve_it));
    if (offers && has_key) r.set("Sec-WebSocket-Accept", accept_of(key));
    if (!chosen.response.empty()) r.set("Sec-WebSocket-Extensions", chosen.response);
    if (!subprotocol.empty()) r.set("Sec-WebSocket-Protocol", subprotocol);
    return r;
}

}  // namespace coracle::websocket::detail
