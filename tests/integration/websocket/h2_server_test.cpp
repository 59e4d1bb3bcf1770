// A server's side of WebSocket over streams of HTTP/2 (RFC 8441), against a peer that speaks bytes
// and against our client, in a simulated world.

#include "integration/websocket/simulated_websocket.hpp"
#include "support/h2_peer.hpp"
#include "support/sanitized.hpp"

#include <coracle/runtime/when_any.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace simulated_websocket;
using coracle::testing::h2_message;
using coracle::testing::h2_peer;
using h2_code = http::h2::error_code;

constexpr std::uint64_t few_seeds = 5;

/// A WebSocket over a stream of a peer, which sends what it is told, right or wrong.
class h2_socket {
public:
    explicit h2_socket(h2_peer& on, std::string_view path = "/ws", h2_peer::lines more = {})
        : peer_(&on), message_(&on.connect("websocket", path, with_version(std::move(more)))) {}

    task<int> status() {
        const auto there = [this] { return message_->status != 0 || message_->reset; };
        co_await peer_->until(there);
        co_return message_->status;
    }
    task<> send(std::string bytes, bool end = false) {
        const auto sent = [this] { return message_->sent; };
        co_await peer_->until(sent);
        peer_->write(*message_, std::move(bytes), end);
        co_await peer_->flush();
    }
    task<> send_text(std::string_view text) {
        std::string bytes = frame(frame_opcode::text, text);
        co_await send(std::move(bytes));
    }

    /// The next frame; nothing when the stream has ended before it.
    task<std::optional<raw_peer::received>> read() {
        std::optional<raw_peer::received> next = take();
        const auto there = [&] {
            if (!next) next = take();
            return next.has_value() || message_->over();
        };
        co_await peer_->until(there);
        co_return next;
    }
    task<std::string> read_text() {
        auto r = co_await read();
        EXPECT_TRUE(r && r->code() == frame_opcode::text);
        co_return r ? r->payload : "nothing";
    }
    /// Reads a close frame, responds to it with the end of the stream, and waits for that of the
    /// server.
    task<close_code> read_close() {
        for (;;) {
            auto r = co_await read();
            if (!r) co_return close_code::abnormal;
            if (r->code() != frame_opcode::close) continue;
            std::string bytes = frame(frame_opcode::close, r->payload);
            co_await send(std::move(bytes), true);
            co_await peer_->until_over(*message_);
            co_return r->why();
        }
    }
    h2_message& message() noexcept { return *message_; }

private:
    static h2_peer::lines with_version(h2_peer::lines more) {
        more.emplace_back("sec-websocket-version", "13");
        return more;
    }
    std::optional<raw_peer::received> take() {
        const std::string_view rest = std::string_view(message_->content).substr(at_);
        const auto byte = [rest](std::size_t i) { return static_cast<unsigned char>(rest[i]); };
        if (rest.size() < 2) return std::nullopt;
        std::size_t size = byte(1);
        EXPECT_LT(size, 128U) << "masked";
        const std::size_t more = size == 126 ? 2 : size == 127 ? 8 : 0;
        if (rest.size() < 2 + more) return std::nullopt;
        if (more != 0) size = 0;
        for (std::size_t i = 0; i != more; ++i) size = size << 8 | byte(2 + i);
        if (rest.size() < 2 + more + size) return std::nullopt;
        raw_peer::received r;
        r.first = byte(0);
        r.payload = rest.substr(2 + more, size);
        at_ += 2 + more + size;
        return r;
    }

    h2_peer* peer_;
    h2_message* message_;
    std::size_t at_ = 0;
};

/// Runs `f(world, peer, route)` with a route "/ws" for each of some seeds.
template <class Handler, class F>
void on_h2_route(websocket::route_options o, Handler h, F f, std::uint64_t n = few_seeds,
                 http::h2_limits of_peer = {}) {
    for (const std::uint64_t seed : seeds(n)) {
        http::router routes;
        const auto route = websocket::route(routes, "/ws", o, h);
        chat_world w(seed, routes);
        w.run([&](chat_world& in) -> task<> {
            h2_peer p(co_await in.in.connect(), of_peer);
            co_await f(in, p, route);
        });
        EXPECT_EQ(route.counters().open, 0U);
        if (::testing::Test::HasFailure()) return;
    }
}

/// Goes on until `n` connections of a route were lost.
template <class Route>
task<> until_lost(h2_peer& p, const Route& route, std::uint64_t n) {
    for (int i = 0; i != 100 && route.counters().lost != n; ++i) co_await p.go_on_for(100ms);
    EXPECT_EQ(route.counters().lost, n);
}

}  // namespace

TEST(websocket_h2_server, leaves_a_slow_reader_alone) {
    websocket::route_options o;
    o.timeouts.write = 7s;
    o.timeouts.idle = 1h;
    o.timeouts.ping = 0s;
    const auto flood = [](websocket::connection& ws) -> task<> {
        const std::string text(200'000, 'x');
        for (;;) co_await ws.send(text);
    };
    const auto read_slowly = [](chat_world&, h2_peer& p, const auto& route) -> task<> {
        h2_socket ws(p);
        EXPECT_EQ(co_await ws.status(), 200);
        p.consumes = false;
        // A stream that takes 750 bytes a second always moves.
        for (int i = 0; i != 60; ++i) {
            co_await p.go_on_for(2s);
            p.session().consume(ws.message(), 1500, loop::current()->now().time_since_epoch());
        }
        EXPECT_EQ(route.counters().write_timeouts, 0U);
        co_await p.go_on_for(20s);
        EXPECT_EQ(route.counters().write_timeouts, 1U);
    };
    on_h2_route(o, flood, read_slowly, few_seeds,
                {.stream_window = 3000, .max_stream_window = 3000});
}

TEST(websocket_h2_server, shakes_hands_without_a_key) {
    on_h2_route({}, echo_handler, [](chat_world&, h2_peer& p, const auto& route) -> task<> {
        h2_socket ws(p);
        EXPECT_EQ(co_await ws.status(), 200);
        for (const char* none : {"sec-websocket-accept", "sec-websocket-protocol",
                                 "sec-websocket-extensions", "upgrade", "connection"}) {
            EXPECT_EQ(ws.message().field(none), "") << none;
        }
        co_await ws.send_text("boat");
        EXPECT_EQ(co_await ws.read_text(), "boat");
        std::string bytes = frame(frame_opcode::text, "Hel", role::client, false) +
                            frame(frame_opcode::ping, "now") +
                            frame(frame_opcode::continuation, "lo");
        co_await ws.send(std::move(bytes));
        const auto pong = co_await ws.read();
        EXPECT_TRUE(pong && pong->code() == frame_opcode::pong && pong->payload == "now");
        EXPECT_EQ(co_await ws.read_text(), "Hello");
        std::string bye = close_frame(close_code::normal, "bye");
        co_await ws.send(std::move(bye), true);
        EXPECT_EQ(co_await ws.read_close(), close_code::normal);
        EXPECT_TRUE(ws.message().ended);
        EXPECT_FALSE(ws.message().reset);
        EXPECT_EQ(route.counters().connections, 1U);
        EXPECT_EQ(route.counters().lost, 0U);
    });
}

TEST(websocket_h2_server, refuses_in_http_what_is_no_handshake) {
    on_h2_route({}, echo_handler, [](chat_world&, h2_peer& p, const auto& route) -> task<> {
        auto& no_version = p.connect("websocket", "/ws");
        auto& old = p.connect("websocket", "/ws", {{"sec-websocket-version", "8"}});
        auto& bad_list =
            p.connect("websocket", "/ws",
                      {{"sec-websocket-version", "13"}, {"sec-websocket-extensions", ";"}});
        auto& other = p.connect("echo", "/ws", {{"sec-websocket-version", "13"}});
        auto& plain = p.get("/ws", {{"sec-websocket-version", "13"}});
        auto& browser = p.get("/ws");
        auto& nowhere = p.connect("websocket", "/none", {{"sec-websocket-version", "13"}});
        const std::pair<const h2_message*, int> rows[] = {
            {&no_version, 400}, {&old, 400},     {&bad_list, 400}, {&other, 501},
            {&plain, 501},      {&nowhere, 404}, {&browser, 501}};
        for (const auto& [m, status] : rows) {
            co_await p.until_over(*m);
            EXPECT_EQ(m->status, status);
            EXPECT_EQ(m->field("upgrade"), "");
        }
        EXPECT_EQ(old.field("sec-websocket-version"), "13");
        EXPECT_EQ(route.counters().connections, 0U);
        EXPECT_EQ(route.counters().refused, 3U);
    });
}

TEST(websocket_h2_server, looks_at_the_origin_as_it_is_told) {
    struct row {
        websocket::origins allowed;
        std::string origin;
        bool accepted;
    };
    const std::vector<row> rows{
        {websocket::origins::same(), "http://x", true},
        {websocket::origins::same(), "http://y", false},
        {websocket::origins::same(), "null", false},
        {websocket::origins::any(), "http://y", true},
        {websocket::origins::list({"http://a"}), "http://a", true},
    };
    for (const row& r : rows) {
        websocket::route_options o;
        o.origins = r.allowed;
        const auto one = [&r](chat_world&, h2_peer& p, const auto& route) -> task<> {
            h2_peer::lines more;
            more.emplace_back("origin", r.origin);
            h2_socket ws(p, "/ws", std::move(more));
            const int expected = r.accepted ? 200 : 403;
            EXPECT_EQ(co_await ws.status(), expected) << r.origin;
            EXPECT_EQ(route.counters().origin, r.accepted ? 0U : 1U);
            if (!r.accepted) co_return;
            std::string bye = close_frame(close_code::normal);
            co_await ws.send(std::move(bye), true);
            co_await ws.read_close();
        };
        on_h2_route(o, echo_handler, one, 1);
    }
}

TEST(websocket_h2_server, chooses_a_subprotocol_and_compression) {
    websocket::route_options o;
    o.subprotocols = {"v2.chat", "v1.chat"};
    o.compression.mode = websocket::compression_mode::per_message;
    const auto handler = [](websocket::connection& ws) -> task<> {
        std::string text(ws.subprotocol());
        if (ws.is_compressed()) text += " packed";
        co_await ws.send(text);
    };
    on_h2_route(o, handler, [](chat_world&, h2_peer& p, const auto&) -> task<> {
        h2_peer::lines more;
        more.emplace_back("sec-websocket-protocol", "v1.chat, other");
        more.emplace_back("sec-websocket-protocol", "v2.chat");
        more.emplace_back("sec-websocket-extensions", "permessage-deflate");
        h2_socket ws(p, "/ws", std::move(more));
        EXPECT_EQ(co_await ws.status(), 200);
        EXPECT_EQ(ws.message().field("sec-websocket-protocol"), "v2.chat");
        EXPECT_TRUE(
            ws.message().field("sec-websocket-extensions").starts_with("permessage-deflate; "));
        EXPECT_EQ(co_await ws.read_text(), "v2.chat packed");
        EXPECT_EQ(co_await ws.read_close(), close_code::normal);
    });
}

TEST(websocket_h2_server, closes_for_what_breaks_a_rule_or_a_limit) {
    struct row {
        std::string bytes;
        close_code code;
        const char* why;
    };
    std::string fragments = frame(frame_opcode::text, "", role::client, false);
    for (int i = 0; i != 4; ++i) {
        fragments += frame(frame_opcode::continuation, "", role::client, false);
    }
    const std::vector<row> rows{
        {frame(frame_opcode::binary, repeated(1001)), close_code::message_too_big, "the limit"},
        {fragments, close_code::policy_violation, "too many fragments"},
        {frame(frame_opcode::text, "x", role::server), close_code::protocol_error, "no mask"},
        {frame(frame_opcode::continuation, "x"), close_code::protocol_error, "nothing begun"},
        {frame(frame_opcode::text, "\xff"), close_code::invalid_data, "no UTF-8"},
    };
    websocket::route_options o;
    o.limits.message = 1000;
    o.limits.fragments = 4;
    for (const row& r : rows) {
        const auto one = [&r](chat_world&, h2_peer& p, const auto&) -> task<> {
            h2_socket bad(p);
            h2_socket good(p);
            std::string bytes = frame(frame_opcode::binary, repeated(1000)) + r.bytes;
            co_await bad.send(std::move(bytes));
            const auto echoed = co_await bad.read();
            EXPECT_TRUE(echoed && echoed->payload == repeated(1000)) << r.why;
            EXPECT_EQ(co_await bad.read_close(), r.code) << r.why;
            // Others of the connection go on.
            co_await good.send_text("still here");
            EXPECT_EQ(co_await good.read_text(), "still here");
            std::string bye = close_frame(close_code::normal);
            co_await good.send(std::move(bye), true);
            co_await good.read_close();
        };
        on_h2_route(o, echo_handler, one, 2);
    }
}

TEST(websocket_h2_server, sees_a_stream_that_ends_or_is_reset_as_a_connection_that_is_lost) {
    std::string ends;
    const auto handler = [&ends](websocket::connection& ws) -> task<> {
        auto m = co_await as_result(ws.receive());
        if (m) co_return;
        ends += m.error() == errc::end_of_stream ? "ended " : "reset ";
        EXPECT_EQ(ws.status().code, close_code::abnormal);
    };
    on_h2_route({}, handler, [&ends](chat_world&, h2_peer& p, const auto& route) -> task<> {
        ends.clear();
        h2_socket first(p);
        h2_socket second(p);
        h2_socket third(p);
        for (h2_socket* each : {&first, &second, &third}) EXPECT_EQ(co_await each->status(), 200);
        co_await first.send({}, true);
        co_await until_lost(p, route, 1);
        p.cancel(second.message());
        co_await until_lost(p, route, 2);
        EXPECT_EQ(ends, "ended reset ");
        p.connection().close(true);
        for (int i = 0; i != 100 && route.counters().lost != 3; ++i) co_await sleep_for(100ms);
        EXPECT_EQ(ends, "ended reset reset ");
        EXPECT_EQ(route.counters().handler_errors, 0U);
    });
}

TEST(websocket_h2_server, gives_up_peers_that_are_silent_and_pings_them_before) {
    websocket::route_options o;
    o.timeouts.ping = 10s;
    o.timeouts.idle = 25s;
    on_h2_route(o, echo_handler, [](chat_world& w, h2_peer& p, const auto& route) -> task<> {
        const time_point begun = w.in.sim.now();
        h2_socket silent(p);
        h2_socket heard(p);
        const auto ping = co_await silent.read();
        EXPECT_TRUE(ping && ping->code() == frame_opcode::ping);
        EXPECT_GE(w.in.since(begun), 10s);
        EXPECT_LE(w.in.since(begun), 11s);
        for (int i = 0; i != 5; ++i) {
            const auto asked = co_await heard.read();
            EXPECT_TRUE(asked && asked->code() == frame_opcode::ping);
            std::string pong = frame(frame_opcode::pong, asked ? asked->payload : "");
            co_await heard.send(std::move(pong));
            if (i != 2) continue;
            EXPECT_GE(w.in.since(begun), 30s);
            EXPECT_TRUE(silent.message().over());
            EXPECT_EQ(route.counters().idle_timeouts, 1U);
        }
        EXPECT_FALSE(heard.message().over());
        std::string bye = close_frame(close_code::normal);
        co_await heard.send(std::move(bye), true);
        co_await heard.read_close();
        EXPECT_EQ(route.counters().idle_timeouts, 1U);
    });
}

TEST(websocket_h2_server, ends_what_lives_too_long_or_does_not_close) {
    websocket::route_options o;
    o.timeouts.lifetime = 1min;
    o.timeouts.close = 3s;
    on_h2_route(o, echo_handler, [](chat_world& w, h2_peer& p, const auto& route) -> task<> {
        const time_point begun = w.in.sim.now();
        h2_socket closes(p);
        h2_socket stays(p);
        // Its pings get a pong, its close frame gets nothing.
        EXPECT_EQ(co_await closes.read_close(), close_code::going_away);
        EXPECT_GE(w.in.since(begun), 1min);
        co_await p.until_over(stays.message());
        EXPECT_GE(w.in.since(begun), 63s);
        EXPECT_LE(w.in.since(begun), 75s);
        EXPECT_EQ(route.counters().lifetimes, 2U);
        EXPECT_EQ(route.counters().close_timeouts, 1U);
    });
}

TEST(websocket_h2_server, says_good_bye_to_all_when_it_drains) {
    on_h2_route({}, echo_handler, [](chat_world& w, h2_peer& p, const auto& route) -> task<> {
        std::vector<std::unique_ptr<h2_socket>> all;
        for (int i = 0; i != 10; ++i) {
            all.push_back(std::make_unique<h2_socket>(p));
            EXPECT_EQ(co_await all.back()->status(), 200);
        }
        co_await all.front()->send_text("before");
        EXPECT_EQ(co_await all.front()->read_text(), "before");
        w.in.server.stop();
        for (const auto& ws : all) EXPECT_EQ(co_await ws->read_close(), close_code::going_away);
        co_await p.until_closed();
        EXPECT_EQ(route.counters().drained, 10U);
        EXPECT_EQ(w.in.counters().cut_by_drain, 0U);
    });
}

namespace {

/// How long 99 sockets of a connection take for their messages. The server sends without an end on
/// the hundredth, which its client does not read; or nothing, where it does not flood.
duration time_beside(std::uint64_t seed, bool floods) {
    http::router routes;
    std::size_t flooded = 0;
    duration took{};
    const auto flooding = [&](websocket::connection& ws) -> task<> {
        const std::string much = repeated(100'000);
        while (floods) {
            auto sent = co_await as_result(ws.send(much));
            if (!sent) co_return;
            flooded += much.size();
        }
        co_await ws.closed();
    };
    websocket::route(routes, "/flood", flooding);
    const auto route = websocket::route(routes, "/ws", echo_handler);
    chat_world w(seed, routes);
    w.run([&](chat_world&) -> task<> {
        http::client_options o;
        o.proxy_from_environment = false;
        o.http_version = http::version_choice::http_2;
        http::client client(o);
        auto stalled = co_await websocket::connect(client, "ws://127.0.0.1:80/flood");
        std::vector<websocket::connection> others;
        for (int i = 0; i != 99; ++i) {
            others.push_back(co_await websocket::connect(client, "ws://127.0.0.1:80/ws"));
        }
        EXPECT_EQ(client.statistics().connections, 1U);
        co_await sleep_for(5s);
        const std::size_t before = flooded;
        const time_point begun = w.in.sim.now();
        for (int round = 0; round != 20; ++round) {
            for (auto& ws : others) co_await ws.send(std::to_string(round) + repeated(2000));
            for (auto& ws : others) {
                auto m = co_await ws.receive();
                EXPECT_TRUE(m && m->size() > 2000);
            }
        }
        took = w.in.since(begun);
        EXPECT_EQ(flooded, before) << "the other one was not stalled";
        EXPECT_EQ(flooded != 0, floods);
        EXPECT_TRUE(stalled.is_open());
        for (auto& ws : others) co_await ws.close();
    });
    EXPECT_EQ(route.counters().connections, 99U);
    EXPECT_EQ(route.counters().lost, 0U);
    return took;
}

}  // namespace

TEST(websocket_h2_server, is_not_held_up_by_a_socket_that_is_not_read) {
    // The network of a seed is another one with each byte that is sent, so many are added up.
    duration with{};
    duration without{};
    for (const std::uint64_t seed : seeds(fewer_if_sanitized(12))) {
        with += time_beside(seed, true);
        without += time_beside(seed, false);
        if (::testing::Test::HasFailure()) return;
    }
    EXPECT_LT(with.count(), without.count() * 102 / 100);
}

TEST(websocket_h2_server, is_not_held_up_by_a_handler_that_does_not_receive) {
    for (const std::uint64_t seed : seeds(few_seeds)) {
        http::router routes;
        websocket::route_options o;
        o.timeouts.handler = 1s;
        const auto deaf = [](websocket::connection& ws) -> task<> { co_await ws.closed(); };
        websocket::route(routes, "/deaf", o, deaf);
        const auto route = websocket::route(routes, "/ws", echo_handler);
        chat_world w(seed, routes);
        w.run([&](chat_world&) -> task<> {
            http::client_options c;
            c.proxy_from_environment = false;
            c.http_version = http::version_choice::http_2;
            http::client client(c);
            auto stalled = co_await websocket::connect(client, "ws://127.0.0.1:80/deaf");
            std::vector<websocket::connection> others;
            for (int i = 0; i != 99; ++i) {
                others.push_back(co_await websocket::connect(client, "ws://127.0.0.1:80/ws"));
            }
            const std::string much = repeated(100'000);
            std::size_t sent = 0;
            const auto flood = [&]() -> task<> {
                for (;;) {
                    auto went = co_await as_result(stalled.send(much));
                    if (!went) co_return;
                    ++sent;
                }
            };
            const auto rounds = [&]() -> task<> {
                co_await sleep_for(5s);
                const std::size_t before = sent;
                for (int round = 0; round != 20; ++round) {
                    for (auto& ws : others) co_await ws.send(repeated(2000));
                    for (auto& ws : others) {
                        auto m = co_await ws.receive();
                        EXPECT_TRUE(m && m->size() == 2000);
                    }
                }
                EXPECT_EQ(sent, before) << "the other one was not stalled";
                for (auto& ws : others) co_await ws.close();
            };
            co_await when_any(flood(), rounds());
        });
        EXPECT_EQ(route.counters().connections, 99U);
        EXPECT_EQ(route.counters().lost, 0U);
        if (::testing::Test::HasFailure()) return;
    }
}
