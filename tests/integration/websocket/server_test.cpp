// Messages to and from a server of WebSocket, against peers that speak bytes, in a simulated world.

#include "integration/websocket/simulated_websocket.hpp"

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/when_any.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace simulated_websocket;

TEST(websocket_server, echoes_what_comes_in_order) {
    on_route({}, echo_handler, [](chat_world& w, const auto& route) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        std::string bytes;
        for (int i = 0; i != 300; ++i) bytes += frame(frame_opcode::text, std::to_string(i));
        bytes += frame(frame_opcode::text, "Hel", role::client, false) +
                 frame(frame_opcode::ping, "now") + frame(frame_opcode::continuation, "lo") +
                 frame(frame_opcode::binary, repeated(100'000)) + frame(frame_opcode::text, "");
        co_await p.send(std::move(bytes));
        for (int i = 0; i != 300; ++i) {
            const std::string text = co_await p.read_text();
            EXPECT_EQ(text, std::to_string(i));
        }
        const auto pong = co_await p.read();
        EXPECT_EQ(pong.code(), frame_opcode::pong);
        EXPECT_EQ(pong.payload, "now");
        const std::string hello = co_await p.read_text();
        EXPECT_EQ(hello, "Hello");
        std::string large;
        for (bool fin = false; !fin;) {
            const auto part = co_await p.read();
            EXPECT_EQ(part.code(),
                      large.empty() ? frame_opcode::binary : frame_opcode::continuation);
            large += part.payload;
            fin = part.fin();
        }
        EXPECT_EQ(large, repeated(100'000));
        const auto empty = co_await p.read();
        EXPECT_EQ(empty.payload, "");
        co_await p.send(close_frame(static_cast<close_code>(4001), "done"));
        const close_code code = co_await p.read_close();
        EXPECT_EQ(static_cast<int>(code), 4001);
        EXPECT_EQ(route.counters().protocol_errors, 0U);
        EXPECT_EQ(route.counters().connections, 1U);
    });
}

// The last message and the end of one come at once, and with them a message of another, which
// decides.
TEST(websocket_server, keeps_the_last_message_of_a_wait_that_is_cancelled_as_it_comes) {
    for (const std::uint64_t seed : seeds(20)) {
        websocket::connection* other = nullptr;
        event over;
        std::string got;
        const auto note = [&got](const std::optional<websocket::message>& m) {
            if (m) got += m->data();
        };
        http::router routes;
        websocket::route(routes, "/first", [&](websocket::connection& ws) -> task<> {
            other = &ws;
            co_await over.wait();
        });
        websocket::route(routes, "/second", [&](websocket::connection& ws) -> task<> {
            const auto came = co_await when_any(ws.receive(), other->receive());
            if (came.index == 1) note(came.value);
            if (got.empty()) {
                auto left = co_await as_result(other->receive());
                if (left) note(*left);
            }
            over.set();
        });
        simulation_options s;
        s.split = false;
        s.latency_min = s.latency_max = 1ms;
        chat_world w(seed, routes, {}, s);
        w.run([&](chat_world& in) -> task<> {
            raw_peer a = co_await in.connect();
            raw_peer b = co_await in.connect();
            co_await a.shake_hands("/first");
            co_await b.shake_hands("/second");
            co_await sleep_for(1s);
            co_await a.send_text("last");
            a.stream().close();
            co_await b.send_text("now");
            co_await sleep_for(1s);
        });
        EXPECT_EQ(got, "last");
    }
}

// From half of a received block to more than one, each by itself.
TEST(websocket_server, echoes_what_fills_a_block) {
    const auto copying = [](websocket::connection& ws) -> task<> {
        while (auto message = co_await ws.receive()) co_await ws.send(*message);
    };
    on_route({}, copying, [](chat_world& w, const auto&) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        for (std::size_t size = 8'000; size < 17'000; size += 97) {
            const bool is_text = size % 2 == 0;
            const auto code = is_text ? frame_opcode::text : frame_opcode::binary;
            co_await p.send(frame(code, repeated(size)));
            const auto back = co_await p.read();
            EXPECT_EQ(back.code(), code);
            EXPECT_EQ(back.payload, repeated(size));
        }
    });
}

// Sends the block of a message that is given away, with the header before its bytes.
TEST(websocket_server, sends_messages_that_it_is_given) {
    constexpr std::size_t sizes[] = {0,      1,      2'048,  2'049,  8'191,  8'192,
                                     8'193,  16'376, 16'377, 16'384, 16'392, 40'000,
                                     65'535, 65'536, 65'537, 300'000};
    std::vector<std::size_t> kept;
    const auto giving = [&kept](websocket::connection& ws) -> task<> {
        while (auto message = co_await ws.receive()) {
            const std::size_t size = message->size();
            co_await ws.send(std::move(*message));
            if (!message->empty()) kept.push_back(size);
        }
    };
    on_route({}, giving, [&kept, &sizes](chat_world& w, const auto&) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        const auto read_back = [&p](std::size_t size) -> task<> {
            std::string back;
            for (bool fin = false; !fin;) {
                const auto part = co_await p.read();
                back += part.payload;
                fin = part.fin();
            }
            EXPECT_EQ(back, repeated(size, static_cast<char>('a' + size % 26)));
        };
        const auto frame_of = [](std::size_t size) {
            return frame(frame_opcode::binary, repeated(size, static_cast<char>('a' + size % 26)));
        };
        kept.clear();
        for (const std::size_t size : sizes) {
            co_await p.send(frame_of(size));
            co_await read_back(size);
        }
        // Few bytes are copied; the most that is sent as one frame is given away.
        EXPECT_EQ(std::ranges::count(kept, 2'048U), 1);
        EXPECT_EQ(std::ranges::count(kept, 16'384U), 0);
        EXPECT_EQ(std::ranges::count(kept, 65'536U), 0);
        EXPECT_EQ(std::ranges::count(kept, 65'537U), 1);
        // A message of two frames is in a block of its own, without a place for a header.
        co_await p.send(frame(frame_opcode::binary, repeated(2'000), role::client, false) +
                        frame(frame_opcode::continuation, repeated(2'222)));
        const auto joined = co_await p.read();
        EXPECT_EQ(joined.payload, repeated(4'222));
        EXPECT_EQ(std::ranges::count(kept, 4'222U), 1);
        // Many that wait to be read, with a small one behind each.
        std::string all;
        for (const std::size_t size : sizes) all += frame_of(size) + frame_of(3);
        const auto send = [&]() -> task<> { co_await p.send(std::move(all)); };
        const auto read = [&]() -> task<> {
            co_await sleep_for(5s);
            for (const std::size_t size : sizes) {
                co_await read_back(size);
                co_await read_back(3);
            }
        };
        co_await when_all(send(), read());
    });
}

TEST(websocket_server, receives_in_pieces_what_has_no_limit) {
    const auto counting = [](websocket::connection& ws) -> task<> {
        for (;;) {
            std::size_t size = 0;
            for (;;) {
                auto part = co_await ws.receive_piece();
                if (!part) co_return;
                EXPECT_EQ(part->bytes, repeated(part->bytes.size(), 'z'));
                size += part->bytes.size();
                if (part->last) break;
            }
            co_await ws.send(std::to_string(size));
        }
    };
    on_route(
        {}, counting,
        [](chat_world& w, const auto&) -> task<> {
            raw_peer p = co_await w.connect();
            co_await p.shake_hands("/ws");
            const std::size_t size = 3 * 1024 * 1024;
            co_await p.send(frame(frame_opcode::binary, repeated(size, 'z')) +
                            frame(frame_opcode::text, "") + frame(frame_opcode::text, "zz"));
            for (const std::size_t n : {size, std::size_t{0}, std::size_t{2}}) {
                const std::string text = co_await p.read_text();
                EXPECT_EQ(text, std::to_string(n));
            }
            co_await p.send(close_frame(close_code::normal));
            co_await p.read_close();
        },
        3);
}

TEST(websocket_server, gives_the_rest_of_a_message_that_was_begun_the_other_way) {
    const auto both = [](websocket::connection& ws) -> task<> {
        auto first = co_await ws.receive_piece();
        std::string begun(first->bytes);
        auto rest = co_await ws.receive();
        co_await ws.send(begun + "|" + rest->str());
        // A whole message that was given up in its midst.
        auto cut = co_await as_result(with_timeout(10s, ws.receive()));
        EXPECT_FALSE(cut.has_value());
        std::string pieces;
        for (bool last = false; !last;) {
            auto part = co_await ws.receive_piece();
            pieces += part->bytes;
            last = part->last;
        }
        co_await ws.send(pieces);
    };
    on_route({}, both, [](chat_world& w, const auto&) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        co_await p.send(frame(frame_opcode::text, "one ", role::client, false));
        co_await sleep_for(1s);
        co_await p.send(frame(frame_opcode::continuation, "two"));
        const std::string first = co_await p.read_text();
        EXPECT_EQ(first, "one |two");
        co_await p.send(frame(frame_opcode::text, "three ", role::client, false));
        co_await sleep_for(20s);
        co_await p.send(frame(frame_opcode::continuation, "four"));
        const std::string second = co_await p.read_text();
        EXPECT_EQ(second, "three four");
        co_await p.read_close();
    });
}

TEST(websocket_server, closes_where_a_message_in_pieces_is_not_finished) {
    // Its end is asked for in a task that is cancelled before it begins.
    const auto unfinished = [](websocket::connection& ws) -> task<> {
        auto stream = co_await ws.stream(websocket::message_type::text);
        co_await stream.write("one ");
        {
            auto moved = std::move(stream);
            const auto never_begun = moved.finish();
        }
        EXPECT_FALSE(ws.is_open());
        co_await ws.closed();
    };
    on_route({}, unfinished, [](chat_world& w, const auto&) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        const auto first = co_await p.read();
        EXPECT_EQ(first.payload, "one ");
        EXPECT_EQ(co_await p.read_close(), websocket::close_code::internal_error);
    });
}

TEST(websocket_server, lets_one_message_in_pieces_go_when_the_next_has_begun) {
    const auto two = [](websocket::connection& ws) -> task<> {
        std::optional<websocket::message_writer> first(
            co_await ws.stream(websocket::message_type::text));
        co_await first->write("one");
        co_await first->finish();
        auto second = co_await ws.stream(websocket::message_type::text);
        co_await second.write("two");
        first.reset();
        co_await second.finish();
    };
    on_route({}, two, [](chat_world& w, const auto&) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        EXPECT_EQ(co_await p.read_close(), websocket::close_code::normal);
    });
}

TEST(websocket_server, counts_those_that_are_open_whoever_keeps_a_sender) {
    std::vector<websocket::sender> kept;
    const auto handler = [&](websocket::connection& ws) -> task<> {
        kept.push_back(ws.sender());
        co_return;
    };
    on_route({}, handler, [](chat_world& w, const auto& route) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        co_await p.read_close();
        EXPECT_EQ(route.counters().open, 0U);
    });
}

TEST(websocket_server, writes_a_message_in_pieces_with_others_behind_it) {
    const auto writing = [](websocket::connection& ws) -> task<> {
        auto stream = co_await ws.stream(websocket::message_type::text);
        co_await stream.write("one ");
        const auto other = [&ws]() -> task<> { co_await ws.send("behind"); };
        const auto rest = [&]() -> task<> {
            co_await sleep_for(1s);
            EXPECT_FALSE(ws.try_send("not between"));
            co_await stream.write("two");
            co_await stream.finish();
        };
        co_await when_all(other(), rest());
    };
    on_route({}, writing, [](chat_world& w, const auto&) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        co_await p.send(frame(frame_opcode::ping, "between"));
        std::string text;
        int pongs = 0;
        for (bool fin = false; !fin;) {
            const auto part = co_await p.read();
            if (part.code() == frame_opcode::pong) {
                ++pongs;
                continue;
            }
            text += part.payload;
            fin = part.fin();
        }
        EXPECT_EQ(text, "one two");
        const auto behind = co_await p.read();
        EXPECT_EQ(behind.code() == frame_opcode::pong ? "pong" : behind.payload, "behind");
        EXPECT_EQ(pongs, 1);
        co_await p.read_close();
    });
}

TEST(websocket_server, closes_when_a_message_is_not_finished) {
    const auto cut = [](websocket::connection& ws) -> task<> {
        auto stream = co_await ws.stream(websocket::message_type::text);
        co_await stream.write("one ");
    };
    on_route({}, cut, [](chat_world& w, const auto&) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        const close_code code = co_await p.read_close();
        EXPECT_EQ(code, close_code::internal_error);
    });
}

TEST(websocket_server, waits_for_a_peer_that_does_not_read) {
    std::size_t sent = 0;
    std::size_t most = 0;
    const auto flooding = [&](websocket::connection& ws) -> task<> {
        const std::string text = repeated(10'000);
        for (;;) {
            auto sending = ws.send(text);
            auto done = co_await as_result(sending);
            if (!done) co_return;
            ++sent;
            most = std::max(most, ws.unsent());
        }
    };
    websocket::route_options o;
    o.timeouts.write = 1h;
    o.timeouts.idle = 1h;
    o.timeouts.ping = 0s;
    on_route(
        o, flooding,
        [&](chat_world& w, const auto&) -> task<> {
            sent = 0;
            raw_peer p = co_await w.connect();
            co_await p.shake_hands("/ws");
            co_await sleep_for(10min);
            const std::size_t before = sent;
            EXPECT_GT(before, 6U);
            EXPECT_LE(most, 64U * 1024 + 10'014);
            for (int i = 0; i != 50; ++i) {
                const auto part = co_await p.read();
                EXPECT_EQ(part.payload.size(), 10'000U);
            }
            co_await sleep_for(1min);
            EXPECT_GT(sent, before);
            EXPECT_LE(sent, before + 60);
            p.stream().close(true);
        },
        3);
}

TEST(websocket_server, responds_to_pings_and_the_close_frame_while_nobody_receives) {
    const auto deaf = [](websocket::connection& ws) -> task<> {
        auto status = co_await ws.closed();
        EXPECT_EQ(static_cast<int>(status.code), 4000);
        EXPECT_TRUE(status.by_peer);
        EXPECT_TRUE(status.clean);
        EXPECT_EQ(status.reason, "enough");
    };
    on_route({}, deaf, [](chat_world& w, const auto&) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        for (int i = 0; i != 10; ++i) {
            co_await p.send(frame(frame_opcode::ping, std::to_string(i)));
            const auto pong = co_await p.read();
            EXPECT_EQ(pong.code(), frame_opcode::pong);
            EXPECT_EQ(pong.payload, std::to_string(i));
        }
        co_await p.send(close_frame(static_cast<close_code>(4000), "enough"));
        const close_code code = co_await p.read_close();
        EXPECT_EQ(static_cast<int>(code), 4000);
    });
}

TEST(websocket_server, leaves_a_message_as_it_is_where_it_is_told_so) {
    websocket::route_options o;
    o.compression.mode = websocket::compression_mode::per_message;
    const std::string text = repeated(10'000, 's');
    const auto handler = [&](websocket::connection& ws) -> task<> {
        co_await ws.send(text, websocket::compress::never);
        co_await ws.send(text);
        co_await ws.closed();
    };
    on_route(o, handler, [&](chat_world& w, const auto&) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws", "Sec-WebSocket-Extensions: permessage-deflate\r\n");
        const auto plain = co_await p.read();
        EXPECT_FALSE(plain.compressed());
        EXPECT_EQ(plain.payload, text);
        const auto packed = co_await p.read();
        EXPECT_TRUE(packed.compressed());
        EXPECT_LT(packed.payload.size(), text.size() / 10);
        co_await p.send(close_frame(close_code::normal));
        co_await p.read_close();
    });
}

TEST(websocket_server, measures_nothing_by_pongs_to_no_ping) {
    websocket::route_options o;
    o.timeouts.ping = 10s;
    int messages = 0;
    const auto watching = [&](websocket::connection& ws) -> task<> {
        while (auto message = co_await ws.receive()) {
            ++messages;
            const duration least = message->data() == "before" ? 0s : 1s;
            EXPECT_GE(ws.round_trip(), least) << message->data();
            EXPECT_LE(ws.round_trip(), 2 * least) << message->data();
        }
    };
    on_route(o, watching, [&](chat_world& w, const auto&) -> task<> {
        messages = 0;
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        co_await p.send(frame(frame_opcode::pong, repeated(8, '\0')) +
                        frame(frame_opcode::text, "before"));
        const auto ping = co_await p.read();
        EXPECT_EQ(ping.code(), frame_opcode::ping);
        co_await sleep_for(1s);
        const std::string pong = frame(frame_opcode::pong, ping.payload);
        co_await p.send(pong + frame(frame_opcode::text, "after"));
        co_await sleep_for(5s);
        co_await p.send(pong + frame(frame_opcode::text, "again"));
        co_await p.send(close_frame(close_code::normal));
        EXPECT_EQ(co_await p.read_close(), close_code::normal);
        EXPECT_EQ(messages, 3);
    });
}

TEST(websocket_server, fails_a_ping_whose_pong_will_never_come) {
    for (const bool lost : {true, false}) {
        std::optional<error> waiting;
        std::optional<error> late;
        const auto pinging = [&](websocket::connection& ws) -> task<> {
            auto first = co_await as_result(ws.ping());
            if (!first) waiting = first.error();
            auto second = co_await as_result(ws.ping());
            if (!second) late = second.error();
        };
        on_route({}, pinging, [&](chat_world& w, const auto&) -> task<> {
            waiting.reset();
            late.reset();
            raw_peer p = co_await w.connect();
            co_await p.shake_hands("/ws");
            const auto ping = co_await p.read();
            EXPECT_EQ(ping.code(), frame_opcode::ping);
            if (lost)
                p.stream().close(true);
            else
                co_await p.send(close_frame(close_code::normal));
            co_await sleep_for(1s);
            for (const auto& failure : {waiting, late}) {
                const bool fails = failure && failure->code();
                EXPECT_TRUE(fails) << lost;
                if (!fails) continue;
                const std::errc expected =
                    lost ? std::errc::connection_reset : std::errc::broken_pipe;
                EXPECT_EQ(*failure, expected) << *failure;
            }
        });
    }
}

TEST(websocket_server, measures_round_trips) {
    const auto pinging = [](websocket::connection& ws) -> task<> {
        const duration first = co_await ws.ping();
        EXPECT_GE(first, 2s);
        EXPECT_LE(first, 3s);
        EXPECT_EQ(ws.round_trip(), first);
        const auto one = [&ws]() -> task<duration> { co_return co_await ws.ping(); };
        co_await when_all(one(), one());
        auto cut = co_await as_result(with_timeout(1s, ws.ping()));
        EXPECT_FALSE(cut.has_value());
    };
    on_route({}, pinging, [](chat_world& w, const auto&) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        const auto first = co_await p.read();
        co_await p.send(frame(frame_opcode::pong, "") +
                        frame(frame_opcode::pong, repeated(8, '\xff')));
        co_await sleep_for(2s);
        co_await p.send(frame(frame_opcode::pong, first.payload));
        // The pong to the second is one to both.
        co_await p.read();
        const auto third = co_await p.read();
        co_await p.send(frame(frame_opcode::pong, third.payload));
        const close_code code = co_await p.read_close();
        EXPECT_EQ(code, close_code::normal);
    });
}
