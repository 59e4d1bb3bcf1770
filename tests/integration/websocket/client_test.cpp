// Both sides of WebSocket, ours, in a simulated world; and the client against scripted servers.

#include "integration/websocket/many_messages.hpp"
#include "support/eventually.hpp"

#include <coracle/runtime/on.hpp>
#include <coracle/runtime/spawn.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>

#include <atomic>
#include <string>
#include <vector>

namespace {

using namespace simulated_websocket;
using websocket::compression_mode;
using websocket::message_type;

constexpr std::uint64_t some_seeds = 12;

}  // namespace

TEST(websocket_both_sides, exchange_messages_of_every_kind) {
    for (const auto mode :
         {compression_mode::off, compression_mode::per_message, compression_mode::with_context}) {
        for (const std::uint64_t seed : seeds(some_seeds)) {
            http::router routes;
            websocket::route_options o;
            o.compression.mode = compression_mode::with_context;
            const auto route = websocket::route(routes, "/ws", o, echo_handler);
            chat_world w(seed, routes);
            w.run([&](chat_world&) -> task<> {
                http::client client;
                co_await exchange_all(client, mode, seed);
            });
            const auto c = route.counters();
            EXPECT_EQ(c.connections, 1U);
            EXPECT_EQ(c.protocol_errors + c.invalid_data + c.lost + c.close_timeouts, 0U);
            if (::testing::Test::HasFailure()) return;
        }
    }
}

TEST(websocket_both_sides, compress_as_they_agreed) {
    struct row {
        compression_mode server;
        compression_mode client;
        int server_bits;
        int client_bits;
        bool agreed;
    };
    using enum compression_mode;
    const row rows[] = {
        {off, with_context, 15, 15, false},        {with_context, off, 15, 15, false},
        {per_message, with_context, 15, 15, true}, {with_context, per_message, 9, 15, true},
        {with_context, with_context, 15, 9, true}, {with_context, with_context, 10, 12, true}};
    for (const row& r : rows) {
        http::router routes;
        websocket::route_options o;
        o.compression.mode = r.server;
        o.compression.window_bits = r.server_bits;
        websocket::route(routes, "/ws", o, echo_handler);
        chat_world w(1, routes);
        w.run([&](chat_world&) -> task<> {
            http::client client;
            websocket::options mine;
            mine.compression.mode = r.client;
            mine.compression.window_bits = r.client_bits;
            auto dialing = websocket::connect(client, "ws://127.0.0.1:80/ws");
            dialing.options(mine);
            auto ws = co_await dialing;
            EXPECT_EQ(ws.is_compressed(), r.agreed);
            for (const auto& [type, bytes] : many_messages(3)) {
                co_await ws.send(type, bytes);
                auto message = co_await ws.receive();
                EXPECT_TRUE(message && message->data() == bytes);
            }
            co_await ws.close();
        });
        if (::testing::Test::HasFailure()) return;
    }
}

// The compressor gives nothing for the first 64 KiB, and what is behind them is too little to be
// compressed by itself.
TEST(websocket_both_sides, send_what_the_compressor_holds_back) {
    http::router routes;
    websocket::route_options o;
    o.compression.mode = compression_mode::with_context;
    o.limits.message = 1024 * 1024;
    websocket::route(routes, "/ws", o, echo_handler);
    chat_world w(1, routes);
    w.run([&](chat_world&) -> task<> {
        http::client client;
        auto dialing = websocket::connect(client, "ws://127.0.0.1:80/ws");
        dialing.compression(compression_mode::with_context);
        auto ws = co_await dialing;
        for (const std::size_t size : {65535U, 65536U, 65537U, 65563U, 131099U, 300'027U}) {
            for (const char fill : {'a', 'b'}) {
                const std::string text(size, fill);
                co_await ws.send(message_type::text, text);
                auto message = co_await ws.receive();
                EXPECT_TRUE(message.has_value());
                EXPECT_EQ(message ? message->size() : 0, size);
                EXPECT_TRUE(message && message->data() == text);
            }
        }
        co_await ws.close();
    });
}

TEST(websocket_both_sides, write_compressed_messages_in_pieces) {
    http::router routes;
    websocket::route_options o;
    o.compression.mode = compression_mode::with_context;
    websocket::route(routes, "/ws", o, [](websocket::connection& ws) -> task<> {
        for (int i = 0; i != 3; ++i) {
            auto stream = co_await ws.stream(message_type::text);
            for (int k = 0; k != 5; ++k) {
                co_await stream.write("boats and boats");
                co_await sleep_for(1s);
            }
            co_await stream.finish();
            auto nothing = co_await ws.stream(message_type::text);
            co_await nothing.finish();
            // A piece without bytes makes no frame, or the next one would seem to be the second.
            auto late = co_await ws.stream(message_type::text);
            co_await late.write("");
            co_await late.write("late");
            co_await late.finish();
            auto never = co_await ws.stream(message_type::text);
            co_await never.write("");
            co_await never.finish();
        }
    });
    chat_world w(1, routes);
    w.run([&](chat_world&) -> task<> {
        http::client client;
        auto dialing = websocket::connect(client, "ws://127.0.0.1:80/ws");
        dialing.compression(compression_mode::with_context);
        auto ws = co_await dialing;
        for (int i = 0; i != 3; ++i) {
            auto message = co_await ws.receive();
            EXPECT_EQ(message ? message->size() : 0, 75U);
            auto empty = co_await ws.receive();
            EXPECT_TRUE(empty && empty->empty());
            auto late = co_await ws.receive();
            EXPECT_EQ(late ? late->data() : "none", "late");
            auto never = co_await ws.receive();
            EXPECT_TRUE(never && never->empty());
        }
        auto end = co_await ws.receive();
        EXPECT_FALSE(end);
        EXPECT_EQ(ws.status().code, close_code::normal);
        EXPECT_TRUE(ws.status().by_peer);
    });
}

TEST(websocket_client, is_told_why_it_was_refused) {
    http::router routes;
    routes.get("/plain", [](http::request&) { return "no WebSocket here"; });
    websocket::route(routes, "/ws", echo_handler);
    chat_world w(1, routes);
    w.run([&](chat_world&) -> task<> {
        http::client client;
        auto plain = co_await as_result(websocket::connect(client, "ws://127.0.0.1:80/plain"));
        EXPECT_FALSE(plain);
        EXPECT_EQ(plain.error().code(), make_error_code(websocket::fault::refused));
        EXPECT_EQ(plain.error().subject(), "200 OK");
        const websocket::refusal* const r = websocket::refusal_in(plain.error());
        EXPECT_TRUE(r != nullptr && r->body == "no WebSocket here");
        EXPECT_TRUE(r != nullptr && r->fields.get("Content-Length") == "17");
        auto none = co_await as_result(websocket::connect(client, "ws://127.0.0.1:80/none"));
        EXPECT_EQ(none.error().subject(), "404 Not Found");
        auto foreign = co_await as_result(
            websocket::connect(client, "ws://127.0.0.1:80/ws").header("Origin", "http://y"));
        EXPECT_EQ(foreign.error().subject(), "403 Forbidden");
    });
}

TEST(websocket_client, is_given_the_beginning_of_a_refusal) {
    http::router routes;
    const auto in_pieces = [](http::body_writer& out) -> task<> {
        for (int i = 0; i != 3; ++i) {
            co_await out.write(repeated(3000));
            co_await out.flush();
            co_await sleep_for(100ms);
        }
    };
    routes.get("/long", [in_pieces](http::request&) { return http::stream(in_pieces); });
    const auto slowly = [](http::body_writer& out) -> task<> {
        co_await out.write("so far");
        co_await out.flush();
        co_await sleep_for(1h);
    };
    routes.get("/slow", [slowly](http::request&) { return http::stream(slowly); });
    chat_world w(1, routes);
    w.run([&](chat_world& in) -> task<> {
        http::client client;
        auto longer = co_await as_result(websocket::connect(client, "ws://127.0.0.1:80/long"));
        EXPECT_EQ(websocket::refusal_in(longer.error())->body, repeated(4096));
        const time_point begun = in.in.sim.now();
        auto slow = co_await as_result(websocket::connect(client, "ws://127.0.0.1:80/slow"));
        EXPECT_EQ(websocket::refusal_in(slow.error())->body, "so far");
        EXPECT_LT(in.in.since(begun), 2s);
        auto nobody = co_await as_result(websocket::connect(client, "ws://127.0.0.1:81/"));
        EXPECT_EQ(websocket::refusal_in(nobody.error()), nullptr);
    });
}

TEST(websocket_client, is_shown_the_response_that_accepts_it) {
    http::router routes;
    routes.use([](http::request& req, const http::handler& next) -> task<http::response> {
        auto handling = next(req);
        http::response r = co_await std::move(handling);
        r.set("X-Node", "7");
        co_return r;
    });
    websocket::route(routes, "/ws", echo_handler);
    for (const auto version : {http::version_choice::http_1_1, http::version_choice::http_2}) {
        chat_world w(1, routes);
        w.run([&](chat_world&) -> task<> {
            http::client_options o;
            o.http_version = version;
            http::client client(o);
            std::string node;
            auto dialing = websocket::connect(client, "ws://127.0.0.1:80/ws");
            dialing.on_accepted([&node](const http::response& r) {
                node = r.header("X-Node");
                EXPECT_NE(r.info(), nullptr);
            });
            auto ws = co_await dialing;
            EXPECT_EQ(node, "7");
            co_await ws.close();
            auto refused = websocket::connect(client, "ws://127.0.0.1:80/none");
            refused.on_accepted([](const http::response&) { ADD_FAILURE(); });
            EXPECT_FALSE(co_await as_result(refused));
        });
    }
}

TEST(websocket_client, refuses_responses_that_are_none_to_its_handshake) {
    const std::string good = "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
    struct row {
        std::string response;
        std::string_view subject;
    };
    const std::vector<row> rows{
        {good + "\r\n", "Sec-WebSocket-Accept"},
        {good + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
         "Sec-WebSocket-Accept"},
        {"HTTP/1.1 101 x\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n", "Upgrade"},
        {"HTTP/1.1 101 x\r\nUpgrade: websocket\r\n\r\n", "Connection"},
    };
    for (const row& r : rows) {
        simulation sim(1);
        sim.run([&]() -> task<> {
            script says;
            says.read_head().send(r.response).read_to_end();
            const scripted_peer server(*loop::current(), says);
            http::client client;
            const std::string url = "ws" + server.url().substr(4);
            auto made = co_await as_result(websocket::connect(client, url));
            EXPECT_FALSE(made);
            if (made) co_return;
            EXPECT_EQ(made.error().code(), make_error_code(websocket::fault::bad_handshake));
            EXPECT_EQ(made.error().subject(), r.subject);
        });
    }
}

TEST(websocket_client, offers_no_subprotocols_that_cannot_be_told_apart) {
    simulation sim(1);
    sim.run([&]() -> task<> {
        http::client client;
        for (const char* name : {"", "ba d", "chat"}) {
            auto made = co_await as_result(websocket::connect(client, "ws://127.0.0.1:80/")
                                               .subprotocol("chat")
                                               .subprotocol(name));
            EXPECT_FALSE(made);
            if (made) co_return;
            EXPECT_EQ(made.error(), std::errc::invalid_argument) << made.error();
            EXPECT_NE(made.error().subject().find("subprotocol"), std::string::npos);
        }
    });
}

TEST(websocket_client, closes_when_it_is_dropped_and_ends_with_its_loop) {
    for (const bool drops : {true, false}) {
        http::router routes;
        close_code seen = close_code::abnormal;
        websocket::route(routes, "/ws", [&seen](websocket::connection& ws) -> task<> {
            auto status = co_await ws.closed();
            seen = status.code;
        });
        chat_world w(1, routes);
        std::optional<websocket::connection> kept;
        w.run([&](chat_world&) -> task<> {
            http::client client;
            kept.emplace(co_await websocket::connect(client, "ws://127.0.0.1:80/ws"));
            if (drops) {
                kept.reset();
                co_await sleep_for(1s);
                EXPECT_EQ(seen, close_code::going_away);
            } else {
                EXPECT_TRUE(kept->is_open());
            }
        });
        EXPECT_FALSE(kept && kept->is_open());
    }
}

// Also what is in the buffers of the system when it gives up the server's close frame.
TEST(websocket_client, leaves_a_server_that_is_slow_all_that_it_has_sent) {
    for (const std::size_t size : {40'000U, 3'000'000U}) {
        std::size_t heard = 0;
        bool is_whole = false;
        http::router routes;
        websocket::route(routes, "/ws", [&](websocket::connection& ws) -> task<> {
            co_await sleep_for(20s);
            while (auto piece = co_await ws.receive_piece()) {
                heard += piece->bytes.size();
                is_whole = piece->last;
            }
        });
        chat_world w(1, routes);
        w.run([&](chat_world&) -> task<> {
            http::client client;
            auto ws = co_await websocket::connect(client, "ws://127.0.0.1:80/ws");
            co_await ws.send(websocket::message_type::binary, repeated(size));
            co_await ws.close();
            co_await sleep_for(1min);
        });
        EXPECT_EQ(heard, size);
        EXPECT_TRUE(is_whole);
    }
}

TEST(websocket_sender, sends_from_other_loops_in_order) {
    for (const std::uint64_t seed : seeds(some_seeds)) {
        http::router routes;
        simulation_options s;
        s.loops = 3;
        s.seed = seed;
        simulation sim(s);
        std::size_t ended = 0;
        websocket::route(routes, "/ws", [&](websocket::connection& ws) -> task<> {
            const auto from_there = [&](unsigned who) -> task<> {
                const websocket::sender out = ws.sender();
                for (int i = 0; i != 50; ++i) {
                    const std::string text = std::to_string(who) + ':' + std::to_string(i);
                    if (i % 2 == 0) {
                        co_await out.send(text);
                    } else {
                        while (!out.try_send(text)) co_await sleep_for(1ms);
                    }
                }
            };
            const auto on_loop = [&](unsigned who) -> task<> {
                const auto work = [&from_there, who] { return from_there(who); };
                co_await on(sim.loop(who), work);
            };
            co_await when_all(on_loop(0), on_loop(1), on_loop(2));
            ++ended;
        });
        http::server server(http::handler(routes), world::with_address({}));
        server.open(sim.loop());
        sim.run([&]() -> task<> {
            spawn([&]() -> task<> { co_await as_result(server.run(sim.loop())); });
            http::client client;
            auto ws = co_await websocket::connect(client, "ws://127.0.0.1:80/ws");
            int next[3] = {};
            for (int n = 0; n != 150; ++n) {
                auto message = co_await ws.receive();
                EXPECT_TRUE(message);
                if (!message) break;
                const std::string text = message->str();
                const int who = text.at(0) - '0';
                EXPECT_EQ(text, std::to_string(who) + ':' + std::to_string(next[who]));
                ++next[who];
            }
            auto end = co_await ws.receive();
            EXPECT_FALSE(end);
            server.stop();
            co_await sleep_for(10s);
        });
        EXPECT_EQ(ended, 1U);
        if (::testing::Test::HasFailure()) return;
    }
}

TEST(websocket_sender, hands_so_much_to_another_loop_at_a_time) {
    http::router routes;
    simulation_options s;
    s.loops = 2;
    simulation sim(s);
    websocket::route_options o;
    o.limits.handed_over = 250;
    std::vector<bool> accepted;
    const auto handler = [&](websocket::connection& ws) -> task<> {
        const auto from_there = [&]() -> task<> {
            const websocket::sender out = ws.sender();
            // One that is larger by itself passes while nothing else is on its way.
            const std::string large(300, 'x');
            const std::string half(100, 'x');
            accepted.push_back(out.try_send(large));
            accepted.push_back(out.try_send(half));
            co_await sleep_for(1s);
            for (int i = 0; i != 3; ++i) accepted.push_back(out.try_send(half));
            co_await sleep_for(1s);
        };
        co_await on(sim.loop(1), from_there);
    };
    websocket::route(routes, "/ws", o, handler);
    http::server server(http::handler(routes), world::with_address({}));
    server.open(sim.loop());
    std::vector<std::size_t> sizes;
    sim.run([&]() -> task<> {
        spawn([&]() -> task<> { co_await as_result(server.run(sim.loop())); });
        http::client client;
        auto ws = co_await websocket::connect(client, "ws://127.0.0.1:80/ws");
        for (;;) {
            auto message = co_await ws.receive();
            if (!message) break;
            sizes.push_back(message->str().size());
        }
        server.stop();
        co_await sleep_for(10s);
    });
    EXPECT_EQ(accepted, (std::vector<bool>{true, false, true, true, false}));
    EXPECT_EQ(sizes, (std::vector<std::size_t>{300, 100, 100}));
}

TEST(websocket_sender, may_be_kept_when_the_connection_is_gone) {
    http::router routes;
    std::optional<websocket::sender> kept;
    websocket::route(routes, "/ws", [&kept](websocket::connection& ws) -> task<> {
        kept.emplace(ws.sender());
        co_return;
    });
    chat_world w(1, routes);
    w.run([&](chat_world& in) -> task<> {
        raw_peer p = co_await in.connect();
        co_await p.shake_hands("/ws");
        co_await p.read_close();
        EXPECT_FALSE(kept->is_open());
        EXPECT_FALSE(kept->try_send("late"));
        auto late = co_await as_result(kept->send("late"));
        EXPECT_EQ(late.error(), std::errc::broken_pipe);
        kept->close();
    });
}

// As the calls of tasks that clean up after the end of the main one.
TEST(websocket_client, says_goodbye_after_the_end_of_the_main_task) {
    std::atomic<unsigned> code = 0;
    http::router routes;
    websocket::route(routes, "/ws", [&code](websocket::connection& ws) -> task<> {
        co_await ws.receive();
        code = static_cast<unsigned>(ws.status().code);
    });
    const coracle::testing::local_server server(routes);
    http::client client;
    block_on([&]() -> task<> {
        auto ws = co_await websocket::connect(client, server.url("/ws"));
        spawn([own = std::move(ws)]() mutable -> task<> {
            co_await as_result(forever());
            const auto close = [&own]() -> task<> { co_await own.close(close_code::normal); };
            co_await shielded(20s, close);
            EXPECT_EQ(own.status().code, close_code::normal);
        });
    });
    EXPECT_TRUE(coracle::testing::eventually([&] { return code == 1000; })) << code;
}
