// The client's WebSocket over streams of HTTP/2 (RFC 8441): against our own server, and against one
// of which the test decides each step.

#include "integration/websocket/many_messages.hpp"
#include "support/h2_script.hpp"
#include "support/reluctant_server.hpp"
#include "websocket/handshake.hpp"

#include <coracle/runtime/task_group.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace simulated_websocket;
using h2_code = http::h2::error_code;
using script_connection = coracle::testing::h2_script_connection;
using script_stream = coracle::testing::h2_script_stream;
using coracle::testing::h2_script_server;
using coracle::testing::reluctant_server;
using websocket_bytes::decode;

constexpr std::uint64_t few_seeds = 5;

http::client_options over_h2() {
    http::client_options o;
    o.proxy_from_environment = false;
    o.http_version = http::version_choice::http_2;
    return o;
}

/// Runs `body(server, client)` beside a server that `Server` is, in simulations of its own.
template <class Server, class F>
void beside(http::client_options o, F body) {
    for (const std::uint64_t seed : seeds(few_seeds)) {
        simulation sim(seed);
        SCOPED_TRACE(sim.replay());
        sim.run([&]() -> task<> {
            Server server;
            http::client client(o);
            bool finished = false;
            const auto block = [&](task_group& group) -> task<> {
                group.spawn([&] { return server.serve(group); });
                co_await body(server, client);
                finished = true;
                group.cancel();
            };
            const auto ended = co_await as_result(with_task_group(block));
            EXPECT_TRUE(finished) << (ended ? error() : ended.error());
        });
        EXPECT_EQ(sim.backend().open_descriptors(), 0U);
        if (::testing::Test::HasFailure()) return;
    }
}

/// With a server that accepts each socket, unless the test sets `on_head` anew.
template <class F>
void with_script(F body) {
    beside<h2_script_server>(over_h2(), [&](h2_script_server& s, http::client& c) -> task<> {
        s.on_head = [](script_connection& on, script_stream& r) {
            on.respond(r, 200, {}, {}, false);
        };
        co_await body(s, c);
    });
}

std::string ws_url(const h2_script_server& s, std::string_view target = "/") {
    return "ws" + s.url(target).substr(4);
}

std::string text_frame(std::string_view text) {
    return frame(frame_opcode::text, text, role::server);
}

/// The messages and control frames that the client has sent so far, and the end if it came.
std::vector<std::string> said(const script_stream& r) {
    return decode(r.body, 0).events;
}

/// Waits until the client has reset a stream, and returns the code.
task<h2_code> reset_of(const script_stream& r) {
    while (!r.reset_by_client) co_await sleep_for(1ms);
    co_return *r.reset_by_client;
}

/// Waits until the client has ended its side of a stream.
task<> until_complete(const script_stream& r) {
    while (!r.complete) co_await sleep_for(1ms);
}

/// The error of the next receive.
task<error> failure_of(websocket::connection& ws) {
    auto nothing = co_await as_result(ws.receive());
    EXPECT_FALSE(nothing);
    co_return nothing ? error() : nothing.error();
}

}  // namespace

TEST(websocket_over_h2, exchanges_messages_of_every_kind) {
    for (const auto mode :
         {compression_mode::off, compression_mode::per_message, compression_mode::with_context}) {
        for (const std::uint64_t seed : seeds(few_seeds)) {
            http::router routes;
            websocket::route_options o;
            o.compression.mode = compression_mode::with_context;
            http::version used = http::version::http_1_1;
            const auto route =
                websocket::route(routes, "/ws", o, [&used](websocket::connection& ws) -> task<> {
                    used = ws.request().version();
                    co_await echo(ws);
                });
            chat_world w(seed, routes);
            w.run([&](chat_world&) -> task<> {
                http::client client(over_h2());
                co_await exchange_all(client, mode, seed);
                EXPECT_EQ(client.statistics().connections, 1U);
            });
            EXPECT_EQ(used, http::version::http_2);
            const auto c = route.counters();
            EXPECT_EQ(c.connections, 1U);
            EXPECT_EQ(c.protocol_errors + c.invalid_data + c.lost + c.close_timeouts, 0U);
            if (::testing::Test::HasFailure()) return;
        }
    }
}

TEST(websocket_over_h2, opens_with_an_extended_connect_that_has_no_key) {
    with_script([](h2_script_server& s, http::client& client) -> task<> {
        auto dialing = websocket::connect(client, ws_url(s, "/chat?room=1"));
        dialing.header("Origin", "http://x").compression(compression_mode::per_message);
        auto ws = co_await dialing;
        const script_stream& r = *s.connections.at(0)->streams.at(0);
        EXPECT_EQ(r.method, "CONNECT");
        EXPECT_EQ(r.protocol, "websocket");
        EXPECT_EQ(r.path, "/chat?room=1");
        EXPECT_EQ(r.fields.count("sec-websocket-key"), 0U);
        EXPECT_EQ(r.fields.count("connection"), 0U);
        EXPECT_EQ(r.fields.count("upgrade"), 0U);
        EXPECT_EQ(r.fields.at("sec-websocket-version"), "13");
        EXPECT_TRUE(r.fields.at("sec-websocket-extensions").starts_with("permessage-deflate"));
        EXPECT_EQ(r.fields.at("origin"), "http://x");
        // The server agreed to nothing.
        EXPECT_FALSE(ws.is_compressed());
        EXPECT_EQ(ws.subprotocol(), "");
        EXPECT_TRUE(ws.is_open());
    });
}

TEST(websocket_over_h2, agrees_on_subprotocol_and_compression) {
    struct row {
        std::vector<http::field> response;
        std::string_view subprotocol;
        bool compressed;
        std::string_view fault;  ///< the field at fault; empty: none
    };
    const http::field chat{"sec-websocket-protocol", "chat"};
    const http::field other{"sec-websocket-protocol", "news"};
    const http::field deflate{"sec-websocket-extensions", "permessage-deflate"};
    const http::field unknown{"sec-websocket-extensions", "x-rot13"};
    const std::vector<row> rows{
        {{}, "", false, ""},
        {{chat}, "chat", false, ""},
        {{chat, deflate}, "chat", true, ""},
        {{other}, "", false, "Sec-WebSocket-Protocol"},
        {{unknown}, "", false, "Sec-WebSocket-Extensions"},
    };
    for (const row& each : rows) {
        with_script([&each](h2_script_server& s, http::client& client) -> task<> {
            s.on_head = [&each](script_connection& on, script_stream& r) {
                EXPECT_EQ(r.fields["sec-websocket-protocol"], "chat.v2, chat");
                on.respond(r, 200, each.response, {}, false);
            };
            auto dialing = websocket::connect(client, ws_url(s));
            dialing.subprotocol("chat.v2").subprotocol("chat");
            dialing.compression(compression_mode::with_context);
            auto made = co_await as_result(dialing);
            EXPECT_EQ(made.has_value(), each.fault.empty());
            if (made) {
                EXPECT_EQ(made->subprotocol(), each.subprotocol);
                EXPECT_EQ(made->is_compressed(), each.compressed);
                co_return;
            }
            EXPECT_EQ(made.error().code(), make_error_code(websocket::fault::bad_handshake));
            EXPECT_EQ(made.error().subject(), each.fault);
            // The stream that was accepted is given up, the connection is not.
            const script_stream& r = *s.connections.at(0)->streams.at(0);
            EXPECT_EQ(co_await reset_of(r), h2_code::cancel);
            EXPECT_EQ(client.statistics().idle, 1U);
        });
    }
}

TEST(websocket_over_h2, is_told_why_it_was_refused) {
    http::router routes;
    routes.get("/plain", [](http::request&) { return "no WebSocket here"; });
    websocket::route(routes, "/ws", echo_handler);
    chat_world w(1, routes);
    w.run([&](chat_world&) -> task<> {
        http::client client(over_h2());
        auto none = co_await as_result(websocket::connect(client, "ws://127.0.0.1:80/none"));
        EXPECT_FALSE(none);
        EXPECT_EQ(none.error().code(), make_error_code(websocket::fault::refused));
        EXPECT_EQ(none.error().subject(), "404 Not Found");
        EXPECT_EQ(refused_status(none.error()), http::status::not_found);
        auto plain = co_await as_result(websocket::connect(client, "ws://127.0.0.1:80/plain"));
        EXPECT_EQ(plain.error().subject(), "501 Not Implemented");
        auto dialing = websocket::connect(client, "ws://127.0.0.1:80/ws");
        dialing.header("Origin", "http://y");
        auto foreign = co_await as_result(dialing);
        EXPECT_EQ(foreign.error().subject(), "403 Forbidden");
        // The connection is as good as before.
        auto ws = co_await websocket::connect(client, "ws://127.0.0.1:80/ws");
        EXPECT_TRUE(ws.is_open());
        EXPECT_EQ(client.statistics().connections, 1U);
        co_await ws.close();
    });
    with_script([](h2_script_server& s, http::client& client) -> task<> {
        s.on_head = [](script_connection& on, script_stream& r) {
            on.respond(r, 401, {}, "who are you?");
        };
        auto refused = co_await as_result(websocket::connect(client, ws_url(s)));
        EXPECT_FALSE(refused);
        EXPECT_EQ(refused.error().code(), make_error_code(websocket::fault::refused));
        EXPECT_EQ(refused.error().subject(), "401 Unauthorized");
    });
}

TEST(websocket_over_h2, takes_each_2xx_for_an_acceptance) {
    with_script([](h2_script_server& s, http::client& client) -> task<> {
        s.on_head = [](script_connection& on, script_stream& r) {
            on.respond(r, 202, {}, text_frame("early"), false);
        };
        auto ws = co_await websocket::connect(client, ws_url(s));
        auto message = co_await ws.receive();
        EXPECT_TRUE(message && message->data() == "early");
    });
}

TEST(websocket_over_h2, goes_over_http_1_where_the_server_does_not_offer_streams) {
    http::client_options o;
    o.proxy_from_environment = false;
    o.insecure = true;
    beside<reluctant_server>(o, [](reluctant_server& s, http::client& client) -> task<> {
        s.respond = [](const std::string& head) {
            const std::string mark = "\r\nSec-WebSocket-Key: ";
            const std::size_t at = head.find(mark);
            EXPECT_NE(at, std::string::npos) << head;
            if (at == std::string::npos) return std::string("HTTP/1.1 400 x\r\n\r\n");
            const std::size_t from = at + mark.size();
            const std::string key = head.substr(from, head.find("\r\n", from) - from);
            return "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                   "Sec-WebSocket-Accept: " +
                   websocket::detail::accept_of(key) + "\r\n\r\n" + text_frame("over HTTP/1.1");
        };
        const std::string url = "wss" + s.url().substr(5);
        for (unsigned i = 1; i != 3; ++i) {
            auto ws = co_await websocket::connect(client, url);
            auto message = co_await ws.receive();
            EXPECT_TRUE(message && message->data() == "over HTTP/1.1");
            // The second goes there at once.
            EXPECT_EQ(s.heads.size(), i);
            EXPECT_EQ(s.over_h2, 1U);
        }
    });
}

TEST(websocket_over_h2, closes_with_both_close_frames_and_the_end_of_the_stream) {
    with_script([](h2_script_server& s, http::client& client) -> task<> {
        auto ws = co_await websocket::connect(client, ws_url(s));
        script_connection& c = *s.connections.at(0);
        script_stream& r = *c.streams.at(0);
        co_await ws.send("last");
        bool closed = false;
        const auto closing = [&]() -> task<> {
            co_await ws.close(close_code::normal, "bye");
            closed = true;
        };
        const auto responding = [&]() -> task<> {
            while (said(r).size() != 2) co_await sleep_for(1ms);
            co_await sleep_for(1s);
            EXPECT_FALSE(closed);
            const std::string bye = close_frame(close_code::normal, "bye", role::server);
            c.send(r, bye, true);
        };
        co_await when_all(closing(), responding());
        EXPECT_EQ(said(r), (std::vector<std::string>{"text last",
                                                     "close \x03\xe8"
                                                     "bye"}));
        EXPECT_TRUE(ws.status().clean);
        EXPECT_FALSE(ws.status().by_peer);
        EXPECT_EQ(ws.status().code, close_code::normal);
        co_await until_complete(r);
        co_await sleep_for(10s);
        EXPECT_FALSE(r.reset_by_client);
        EXPECT_EQ(client.statistics().idle, 1U);
    });
    // By the server, with the end of its side behind the close frame.
    with_script([](h2_script_server& s, http::client& client) -> task<> {
        auto ws = co_await websocket::connect(client, ws_url(s));
        script_connection& c = *s.connections.at(0);
        script_stream& r = *c.streams.at(0);
        c.send(r, close_frame(close_code::going_away, "restart", role::server), true);
        auto nothing = co_await ws.receive();
        EXPECT_FALSE(nothing);
        EXPECT_TRUE(ws.status().clean && ws.status().by_peer);
        EXPECT_EQ(ws.status().code, close_code::going_away);
        EXPECT_EQ(ws.status().reason, "restart");
        co_await until_complete(r);
        EXPECT_EQ(said(r), std::vector<std::string>{"close \x03\xe9"});
        co_await sleep_for(10s);
        EXPECT_FALSE(r.reset_by_client);
        EXPECT_EQ(client.statistics().idle, 1U);
    });
}

TEST(websocket_over_h2, is_cut_when_the_server_does_not_close) {
    with_script([](h2_script_server& s, http::client& client) -> task<> {
        auto ws = co_await websocket::connect(client, ws_url(s));
        const script_stream& r = *s.connections.at(0)->streams.at(0);
        co_await ws.close();
        EXPECT_FALSE(ws.status().clean);
        EXPECT_EQ(co_await reset_of(r), h2_code::cancel);
        EXPECT_EQ(client.statistics().idle, 1U);
    });
}

TEST(websocket_over_h2, fails_when_its_stream_is_reset_and_others_go_on) {
    with_script([](h2_script_server& s, http::client& client) -> task<> {
        auto first = co_await websocket::connect(client, ws_url(s));
        auto second = co_await websocket::connect(client, ws_url(s));
        EXPECT_EQ(s.connections.size(), 1U);
        script_connection& c = *s.connections.at(0);
        script_stream& r = *c.streams.at(0);
        c.send(r, text_frame("last"), false, [&c, &r] { c.reset(r, h2_code::internal_error); });
        auto last = co_await first.receive();
        EXPECT_TRUE(last && last->data() == "last");
        const error e = co_await failure_of(first);
        EXPECT_EQ(e, std::errc::connection_reset);
        EXPECT_EQ(first.status().code, close_code::abnormal);
        EXPECT_FALSE(first.is_open());
        auto late = co_await as_result(first.send("late"));
        EXPECT_EQ(late.error(), std::errc::broken_pipe);
        c.send(*c.streams.at(1), text_frame("still here"), false);
        auto there = co_await second.receive();
        EXPECT_TRUE(there && there->data() == "still here");
        EXPECT_TRUE(second.is_open());
    });
}

TEST(websocket_over_h2, fails_when_its_connection_is_lost_or_its_stream_ends) {
    with_script([](h2_script_server& s, http::client& client) -> task<> {
        auto first = co_await websocket::connect(client, ws_url(s));
        auto second = co_await websocket::connect(client, ws_url(s));
        auto third = co_await websocket::connect(client, ws_url(s));
        script_connection& c = *s.connections.at(0);
        // The end without a close frame.
        c.send(*c.streams.at(2), text_frame("no close"), true);
        auto message = co_await third.receive();
        EXPECT_TRUE(message && message->data() == "no close");
        const error ended = co_await failure_of(third);
        EXPECT_EQ(ended.code(), make_error_code(errc::end_of_stream));
        c.close();
        for (websocket::connection* ws : {&first, &second}) {
            const error e = co_await failure_of(*ws);
            EXPECT_EQ(e, std::errc::connection_reset);
            EXPECT_EQ(ws->status().code, close_code::abnormal);
        }
        co_await sleep_for(10s);
        EXPECT_EQ(client.statistics().connections, 0U);
        // The next one takes a new connection.
        auto fourth = co_await websocket::connect(client, ws_url(s));
        EXPECT_EQ(s.connections.size(), 2U);
    });
}

TEST(websocket_over_h2, gives_up_a_handshake_that_takes_too_long) {
    with_script([](h2_script_server& s, http::client& client) -> task<> {
        s.on_head = nullptr;
        auto dialing = websocket::connect(client, ws_url(s));
        dialing.timeout(3s);
        auto late = co_await as_result(dialing);
        EXPECT_FALSE(late);
        EXPECT_EQ(late.error(), std::errc::timed_out);
        const script_stream& r = *s.connections.at(0)->streams.at(0);
        EXPECT_EQ(co_await reset_of(r), h2_code::cancel);
    });
}

TEST(websocket_over_h2, shares_one_connection_among_many) {
    for (const std::uint64_t seed : seeds(few_seeds)) {
        http::router routes;
        routes.get("/plain", [](http::request&) { return "plain"; });
        const auto route =
            websocket::route(routes, "/ws/{name}", [](websocket::connection& ws) -> task<> {
                const std::string name(ws.request().param("name"));
                while (auto m = co_await ws.receive()) {
                    co_await ws.send(name + ':' + m->str());
                }
            });
        chat_world w(seed, routes);
        w.run([&](chat_world& in) -> task<> {
            http::client client(over_h2());
            std::vector<websocket::connection> sockets;
            for (int i = 0; i != 20; ++i) {
                const std::string url = "ws://127.0.0.1:80/ws/" + std::to_string(i);
                sockets.push_back(co_await websocket::connect(client, url));
            }
            for (int round = 0; round != 5; ++round) {
                const std::string text = "round " + std::to_string(round);
                for (auto& ws : sockets) co_await ws.send(text);
                for (std::size_t i = 0; i != sockets.size(); ++i) {
                    auto m = co_await sockets[i].receive();
                    EXPECT_TRUE(m && m->data() == std::to_string(i) + ':' + text);
                }
            }
            const auto plain = co_await client.get("http://127.0.0.1:80/plain").full();
            EXPECT_EQ(plain.body, "plain");
            EXPECT_EQ(in.in.counters().open, 1U);
            EXPECT_EQ(client.statistics().connections, 1U);
            for (auto& ws : sockets) {
                co_await ws.close();
                EXPECT_TRUE(ws.status().clean);
            }
        });
        EXPECT_EQ(route.counters().connections, 20U);
        EXPECT_EQ(route.counters().lost, 0U);
        if (::testing::Test::HasFailure()) return;
    }
}

TEST(websocket_over_h2, outlives_its_client_and_ends_with_its_loop) {
    for (const bool drops : {true, false}) {
        http::router routes;
        close_code seen = close_code::abnormal;
        websocket::route(routes, "/ws", [&seen](websocket::connection& ws) -> task<> {
            co_await echo(ws);
            seen = ws.status().code;
        });
        chat_world w(1, routes);
        std::optional<websocket::connection> kept;
        w.run([&](chat_world&) -> task<> {
            {
                http::client client(over_h2());
                kept.emplace(co_await websocket::connect(client, "ws://127.0.0.1:80/ws"));
            }
            co_await kept->send("without a client");
            auto m = co_await kept->receive();
            EXPECT_TRUE(m && m->data() == "without a client");
            if (!drops) co_return;
            kept.reset();
            co_await sleep_for(1s);
            EXPECT_EQ(seen, close_code::going_away);
        });
    }
}
