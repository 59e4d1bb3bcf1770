// The end of a server's WebSocket: its handler, its timeouts, a drain.

#include "integration/websocket/simulated_websocket.hpp"

#include <string>

using namespace simulated_websocket;

namespace {

/// A handler that sends until that fails.
task<> flood(websocket::connection& ws) {
    const std::string text = repeated(100'000);
    for (;;) co_await ws.send(text);
}

}  // namespace

TEST(websocket_server, closes_when_its_handler_ends_or_throws) {
    struct row {
        const char* name;
        close_code code;
        unsigned errors;
    };
    const row rows[] = {{"ends", close_code::normal, 0},
                        {"throws", close_code::internal_error, 1},
                        {"closes", close_code::policy_violation, 0},
                        {"sends after", close_code::normal, 0}};
    for (const row& r : rows) {
        const auto handler = [&r](websocket::connection& ws) -> task<> {
            const std::string name = r.name;
            if (name == "throws") throw std::runtime_error("a fault of the program");
            if (name == "closes") co_await ws.close(close_code::policy_violation, "no");
            if (name == "sends after") {
                co_await ws.close();
                co_await ws.send("too late");
            }
        };
        on_route(
            {}, handler,
            [&r](chat_world& w, const auto& route) -> task<> {
                w.in.sim.log().set_level(log_level::off);
                raw_peer p = co_await w.connect();
                co_await p.shake_hands("/ws");
                const close_code code = co_await p.read_close();
                EXPECT_EQ(code, r.code) << r.name;
                EXPECT_EQ(route.counters().handler_errors, r.errors) << r.name;
            },
            4);
    }
}

TEST(websocket_server, sends_no_close_code_that_stands_for_none) {
    const auto handler = [](websocket::connection& ws) -> task<> {
        const websocket::sender other = ws.sender();
        for (const int code : {999, 1004, 1005, 1006, 1015, 5000}) {
            EXPECT_THROW(other.close(static_cast<close_code>(code)), exception) << code;
            auto refused = co_await as_result(ws.close(static_cast<close_code>(code)));
            EXPECT_EQ(refused.error(), std::errc::invalid_argument) << code;
            EXPECT_TRUE(ws.is_open()) << code;
        }
        other.close(close_code::try_again_later);
        co_await ws.closed();
    };
    on_route({}, handler, [](chat_world& w, const auto&) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        EXPECT_EQ(co_await p.read_close(), close_code::try_again_later);
    });
}

TEST(websocket_server, closes_once_for_all_who_ask) {
    int ended = 0;
    const auto handler = [&ended](websocket::connection& ws) -> task<> {
        const auto one = [&](close_code c) -> task<> {
            co_await ws.close(c);
            ++ended;
        };
        co_await when_all(one(close_code::going_away), one(close_code::normal));
        EXPECT_EQ(ws.status().code, close_code::going_away);
        co_await ws.close();
        ++ended;
    };
    on_route({}, handler, [&ended](chat_world& w, const auto&) -> task<> {
        ended = 0;
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        const auto first = co_await p.read();
        EXPECT_EQ(first.why(), close_code::going_away);
        co_await sleep_for(1s);
        EXPECT_EQ(ended, 0) << "the peer has not closed yet";
        co_await p.send(close_frame(close_code::going_away));
        EXPECT_EQ(co_await p.stream().read_to_end(), "") << "another close frame";
        co_await sleep_for(1s);
        EXPECT_EQ(ended, 3);
    });
}

TEST(websocket_server, has_the_reason_of_a_close_as_it_was_sent) {
    websocket::route_options o;
    o.timeouts.close = 3s;
    std::string reason;
    const auto handler = [&](websocket::connection& ws) -> task<> {
        co_await ws.close(close_code::normal, repeated(122, 'a') + "\xc3\xbc" + "b");
        reason = ws.status().reason;
    };
    on_route(o, handler, [&](chat_world& w, const auto&) -> task<> {
        reason.clear();
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        const auto close = co_await p.read();
        EXPECT_EQ(close.code(), frame_opcode::close);
        EXPECT_EQ(close.payload.substr(2), repeated(122, 'a'));
        // It sends none back.
        co_await p.stream().read_to_end();
        EXPECT_EQ(reason, repeated(122, 'a'));
    });
}

TEST(websocket_timeouts, close_and_give_up) {
    websocket::route_options o;
    o.timeouts.ping = 10s;
    o.timeouts.idle = 25s;
    o.timeouts.close = 3s;
    // A peer that is silent, even to pings.
    on_route(o, echo_handler, [](chat_world& w, const auto& route) -> task<> {
        raw_peer p = co_await w.connect();
        const time_point begun = w.in.sim.now();
        co_await p.shake_hands("/ws");
        const auto ping = co_await p.read();
        EXPECT_EQ(ping.code(), frame_opcode::ping);
        EXPECT_GE(w.in.since(begun), 10s);
        EXPECT_LE(w.in.since(begun), 11s);
        co_await p.stream().read_to_end();
        EXPECT_GE(w.in.since(begun), 25s);
        EXPECT_LE(w.in.since(begun), 26s);
        EXPECT_EQ(route.counters().idle_timeouts, 1U);
    });
    // A peer that responds to pings.
    on_route(o, echo_handler, [](chat_world& w, const auto& route) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        for (int i = 0; i != 10; ++i) {
            const auto ping = co_await p.read();
            EXPECT_EQ(ping.code(), frame_opcode::ping);
            co_await p.send(frame(frame_opcode::pong, ping.payload));
        }
        EXPECT_EQ(route.counters().idle_timeouts, 0U);
        co_await p.send(close_frame(close_code::normal));
        co_await p.read_close();
    });
    // One that gives no close frame, but still pings.
    const auto closing = [](websocket::connection& ws) -> task<> { co_await ws.close(); };
    on_route(o, closing, [](chat_world& w, const auto& route) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        const time_point begun = w.in.sim.now();
        const auto f = co_await p.read();
        EXPECT_EQ(f.code(), frame_opcode::close);
        co_await p.send(frame(frame_opcode::ping, "there?"));
        const auto pong = co_await p.read();
        EXPECT_EQ(pong.code(), frame_opcode::pong);
        EXPECT_EQ(pong.payload, "there?");
        co_await p.stream().read_to_end();
        EXPECT_GE(w.in.since(begun), 3s);
        EXPECT_LE(w.in.since(begun), 4s);
        EXPECT_EQ(route.counters().close_timeouts, 1U);
    });
}

TEST(websocket_timeouts, leave_a_slow_reader_alone) {
    websocket::route_options o;
    o.timeouts.write = 7s;
    // It gives no sign of life but what it takes: pings are behind what it has not read.
    o.timeouts.idle = 25s;
    o.timeouts.ping = 10s;
    on_route(o, flood, [](chat_world& w, const auto& route) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        // Each write of the server takes longer than that, and always moves.
        for (int i = 0; i != 20; ++i) {
            co_await sleep_for(5s);
            static_cast<void>(co_await p.stream().read_exactly(20'000));
        }
        EXPECT_EQ(route.counters().write_timeouts, 0U);
        EXPECT_EQ(route.counters().lost, 0U);
        co_await sleep_for(20s);
        EXPECT_EQ(route.counters().write_timeouts, 1U);
    });
}

// The time for its close frame begins when it has been sent ours.
TEST(websocket_timeouts, leave_a_slow_reader_all_that_was_sent_before_the_close) {
    websocket::route_options o;
    o.timeouts.write = 7s;
    o.timeouts.close = 3s;
    const std::string large = repeated(2'000'000);
    const auto leaving = [&large](websocket::connection& ws) -> task<> {
        co_await ws.send(websocket::message_type::binary, large);
    };
    on_route(
        o, leaving,
        [&large](chat_world& w, const auto& route) -> task<> {
            raw_peer p = co_await w.connect();
            co_await p.shake_hands("/ws");
            std::string heard;
            for (;;) {
                co_await sleep_for(5s);
                const auto f = co_await p.read();
                if (f.code() == frame_opcode::close) break;
                heard += f.payload;
            }
            EXPECT_TRUE(heard == large) << heard.size();
            const time_point closed = w.in.sim.now();
            co_await p.stream().read_to_end();
            EXPECT_LE(w.in.since(closed), 4s);
            EXPECT_EQ(route.counters().write_timeouts, 0U);
            EXPECT_EQ(route.counters().close_timeouts, 1U);
        },
        3);
    // One that reads nothing has no longer than other peers.
    on_route(
        o, leaving,
        [](chat_world& w, const auto& route) -> task<> {
            raw_peer p = co_await w.connect();
            co_await p.shake_hands("/ws");
            co_await sleep_for(15s);
            EXPECT_EQ(route.counters().open, 0U);
            EXPECT_EQ(route.counters().write_timeouts, 1U);
        },
        3);
}

// Its pings have pongs behind the close frame, one after the other.
TEST(websocket_timeouts, end_a_peer_that_pings_and_reads_slowly_behind_the_close) {
    websocket::route_options o;
    o.timeouts.write = 1h;
    o.timeouts.close = 3s;
    const auto leaving = [](websocket::connection& ws) -> task<> {
        co_await ws.send(websocket::message_type::binary, repeated(200'000));
    };
    on_route(
        o, leaving,
        [](chat_world& w, const auto& route) -> task<> {
            raw_peer p = co_await w.connect();
            co_await p.shake_hands("/ws");
            const std::string ping = frame(frame_opcode::ping, repeated(125));
            int rounds = 0;
            for (; rounds != 10'000 && route.counters().open != 0; ++rounds) {
                auto pinging = p.send(ping);
                static_cast<void>(co_await as_result(std::move(pinging)));
                auto reading = p.stream().read_exactly(100);
                if (!co_await as_result(std::move(reading))) break;
                co_await sleep_for(5s);
            }
            EXPECT_LT(rounds, 5000);
            EXPECT_EQ(route.counters().close_timeouts, 1U);
        },
        1);
}

// A peer could make us inflate without end what nobody receives.
TEST(websocket_server, inflates_nothing_behind_its_close_frame) {
    websocket::route_options o;
    o.compression.mode = websocket::compression_mode::with_context;
    const auto closing = [](websocket::connection& ws) -> task<> { co_await ws.close(); };
    on_route(o, closing, [](chat_world& w, const auto& route) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws", "Sec-WebSocket-Extensions: permessage-deflate\r\n");
        const auto f = co_await p.read();
        EXPECT_EQ(f.code(), frame_opcode::close);
        // Where it was inflated, this would be a fault.
        const std::string no_deflate(1000, '\xff');
        co_await p.send(frame(frame_opcode::text, no_deflate, role::client, false, true));
        co_await p.send(frame(frame_opcode::ping, "there?"));
        const auto pong = co_await p.read();
        EXPECT_EQ(pong.payload, "there?");
        co_await p.send(frame(frame_opcode::continuation, no_deflate));
        co_await p.send(close_frame(close_code::normal));
        co_await p.stream().read_to_end();
        EXPECT_EQ(route.counters().invalid_data, 0U);
        EXPECT_EQ(route.counters().close_timeouts, 0U);
        EXPECT_EQ(route.counters().lost, 0U);
    });
}

TEST(websocket_timeouts, end_what_does_not_move_or_lives_too_long) {
    websocket::route_options o;
    o.timeouts.write = 7s;
    on_route(o, flood, [](chat_world& w, const auto& route) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        co_await sleep_for(10s);
        EXPECT_EQ(route.counters().write_timeouts, 1U);
        EXPECT_EQ(route.counters().handler_errors, 0U);
    });
    o.timeouts.lifetime = 1min;
    on_route(o, echo_handler, [](chat_world& w, const auto& route) -> task<> {
        raw_peer p = co_await w.connect();
        const time_point begun = w.in.sim.now();
        co_await p.shake_hands("/ws");
        const close_code code = co_await p.read_close();
        EXPECT_EQ(code, close_code::going_away);
        EXPECT_GE(w.in.since(begun), 1min);
        EXPECT_LE(w.in.since(begun), 62s);
        EXPECT_EQ(route.counters().lifetimes, 1U);
    });
}

TEST(websocket_timeouts, cancel_a_handler_that_goes_on_behind_the_end) {
    int left = 0;
    const auto endless = [&left](websocket::connection&) -> task<> {
        const tracer t(left);
        co_await sleep_for(1h);
    };
    websocket::route_options o;
    o.timeouts.handler = 20s;
    on_route(o, endless, [&left](chat_world& w, const auto& route) -> task<> {
        left = 0;
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        co_await p.send(close_frame(close_code::normal));
        co_await p.read_close();
        co_await sleep_for(18s);
        EXPECT_EQ(left, 0);
        co_await sleep_for(4s);
        EXPECT_EQ(left, 1);
        EXPECT_EQ(route.counters().handler_timeouts, 1U);
    });
}

TEST(websocket_server, says_good_bye_when_it_drains) {
    for (const std::uint64_t seed : seeds(route_seeds)) {
        http::router routes;
        const auto route = websocket::route(routes, "/ws", echo_handler);
        chat_world w(seed, routes);
        w.run([&](chat_world& in) -> task<> {
            raw_peer p = co_await in.connect();
            co_await p.shake_hands("/ws");
            co_await p.send_text("before");
            const std::string text = co_await p.read_text();
            EXPECT_EQ(text, "before");
            in.in.server.stop();
            const close_code code = co_await p.read_close();
            EXPECT_EQ(code, close_code::going_away);
        });
        EXPECT_EQ(route.counters().drained, 1U);
        EXPECT_EQ(w.in.counters().cut_by_drain, 0U);
    }
}

TEST(websocket_server, is_cut_when_the_drain_is_over) {
    int left = 0;
    for (const std::uint64_t seed : seeds(route_seeds)) {
        left = 0;
        http::router routes;
        websocket::route_options o;
        o.timeouts.handler = 1h;
        websocket::route(routes, "/ws", o, [&left](websocket::connection&) -> task<> {
            const tracer t(left);
            co_await sleep_for(10h);
        });
        http::server_options so;
        so.timeouts.drain = 10s;
        chat_world w(seed, routes, so);
        w.run([&](chat_world& in) -> task<> {
            raw_peer p = co_await in.connect();
            co_await p.shake_hands("/ws");
            in.in.server.stop();
            co_await sleep_for(12s);
            EXPECT_EQ(left, 1);
        });
        EXPECT_EQ(w.in.counters().cut_by_drain, 1U);
    }
}

namespace {

/// Takes a piece, and has it in its hands for two seconds, in which the connection ends.
struct piece_holder {
    task<> hold(websocket::connection& ws) {
        auto taken = co_await ws.receive_piece();
        taken_ = std::string(taken->bytes);
        co_await sleep_for(2s);
        EXPECT_EQ(taken->bytes, taken_);
        ++held;
        for (bool goes_on = true; goes_on;) {
            auto rest = co_await as_result(ws.receive_piece());
            goes_on = rest && *rest;
        }
    }
    auto handler() {
        return [this](websocket::connection& ws) -> task<> { co_await hold(ws); };
    }
    int held = 0;

private:
    std::string taken_;
};

}  // namespace

TEST(websocket_pieces, live_until_the_next_whatever_becomes_of_the_connection) {
    const std::string first = frame(frame_opcode::binary, repeated(3000, 'A'), role::client, false);
    const std::string small = frame(frame_opcode::binary, repeated(30, 'A'), role::client, false);
    const std::string second = frame(frame_opcode::continuation, repeated(3000, 'B'));
    const std::string third = frame(frame_opcode::binary, repeated(3000, 'C'));
    enum class how { drain, lifetime, lost };
    for (const auto h : {how::drain, how::lifetime, how::lost}) {
        for (const std::size_t early : {0U, 10U}) {
            SCOPED_TRACE(std::to_string(static_cast<int>(h)) + ' ' + std::to_string(early));
            websocket::route_options o;
            if (h == how::lifetime) o.timeouts.lifetime = 1s;
            // A failed ping is how the server notices, as it reads nothing.
            if (h == how::lost) o.timeouts.ping = 200ms;
            piece_holder holder;
            on_route(o, holder.handler(), [&](chat_world& w, const auto& route) -> task<> {
                for (const std::string& begin : {small, first}) {
                    if (h == how::drain && begin == first) break;
                    raw_peer p = co_await w.connect();
                    co_await p.shake_hands("/ws");
                    co_await p.send(begin + second.substr(0, early));
                    co_await sleep_for(500ms);
                    if (h == how::drain) w.in.server.stop();
                    if (h == how::lifetime) co_await sleep_for(600ms);
                    if (h == how::lost) p.stream().close(true);
                    if (h != how::lost) {
                        co_await p.send(second.substr(early) + third);
                        co_await sleep_for(100ms);
                        co_await p.send(close_frame(close_code::normal));
                        const close_code code = co_await p.read_close();
                        EXPECT_EQ(code, close_code::going_away);
                    }
                    co_await sleep_for(3s);
                }
                EXPECT_EQ(route.counters().protocol_errors, 0U);
            });
            const int each = h == how::drain ? 1 : 2;
            EXPECT_EQ(holder.held, each * static_cast<int>(route_seeds));
        }
    }
}

TEST(websocket_pieces, that_were_inflated_live_as_long) {
    websocket::route_options o;
    o.compression.mode = websocket::compression_mode::per_message;
    piece_holder holder;
    on_route(o, holder.handler(), [&](chat_world& w, const auto&) -> task<> {
        http::client client;
        auto ws = co_await connect_compressed(client, o.compression.mode);
        co_await ws.send(repeated(3000, 'A'));
        co_await sleep_for(1s);
        w.in.server.stop();
        co_await ws.send(repeated(3000, 'B'));
        co_await ws.closed();
    });
    EXPECT_EQ(holder.held, static_cast<int>(route_seeds));
}
