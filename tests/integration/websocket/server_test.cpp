// A server's side of WebSocket against peers that speak bytes, in a simulated world.

#include "integration/websocket/simulated_websocket.hpp"

#include <coracle/http/extract.hpp>

#include <string>
#include <vector>

namespace {

using namespace simulated_websocket;

constexpr std::uint64_t few_seeds = 8;

/// Runs `f(world)` with a route "/ws" for each of some seeds, and gives what was counted.
template <class Handler, class F>
void on_route(websocket::route_options o, Handler h, F f, std::uint64_t n = few_seeds) {
    for (const std::uint64_t seed : seeds(n)) {
        http::router routes;
        const auto route = websocket::route(routes, "/ws", o, h);
        chat_world w(seed, routes);
        w.run([&](chat_world& in) -> task<> { co_await f(in, route); });
        EXPECT_EQ(route.counters().open, 0U);
        if (::testing::Test::HasFailure()) return;
    }
}

/// Sends bytes behind a handshake, and expects a close frame with this code, and the end.
task<> expect_close(chat_world& w, std::string bytes, close_code code, std::string_view why) {
    raw_peer p = co_await w.connect();
    co_await p.shake_hands("/ws");
    auto sending = p.send(std::move(bytes));
    co_await as_result(std::move(sending));
    const close_code got = co_await p.read_close();
    EXPECT_EQ(static_cast<unsigned>(got), static_cast<unsigned>(code)) << why;
}

}  // namespace

// ---- handshakes

TEST(websocket_handshake, is_that_of_the_rfc) {
    on_route({}, echo_handler, [](chat_world& w, const auto&) -> task<> {
        raw_peer p = co_await w.connect();
        const std::string head = co_await p.shake_hands("/ws");
        EXPECT_TRUE(head.starts_with("HTTP/1.1 101 ")) << head;
        EXPECT_NE(head.find("\r\nSec-WebSocket-Accept: " + std::string(sample_accept) + "\r\n"),
                  std::string::npos)
            << head;
        EXPECT_NE(head.find("\r\nUpgrade: websocket\r\n"), std::string::npos) << head;
        EXPECT_EQ(head.find("Sec-WebSocket-Extensions"), std::string::npos) << head;
        EXPECT_EQ(head.find("Sec-WebSocket-Protocol"), std::string::npos) << head;
        co_await p.send_text("boat");
        const std::string text = co_await p.read_text();
        EXPECT_EQ(text, "boat");
        co_await p.send(close_frame(close_code::normal, "bye"));
        const close_code code = co_await p.read_close();
        EXPECT_EQ(code, close_code::normal);
    });
}

TEST(websocket_handshake, that_is_none_is_refused_in_http) {
    struct row {
        std::string_view fields;
        std::string_view status;
        std::string_view field;  ///< of the response
    };
    const std::string key = "Sec-WebSocket-Key: " + std::string(sample_key) + "\r\n";
    const std::string upgrade = "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n";
    const std::string v13 = "Sec-WebSocket-Version: 13\r\n";
    const std::string no_key = upgrade + v13;
    const std::string short_key = upgrade + v13 + "Sec-WebSocket-Key: Ym9hdA==\r\n";
    const std::string v8 = upgrade + key + "Sec-WebSocket-Version: 8\r\n";
    const std::string no_connection = "Upgrade: websocket\r\n" + key + v13;
    const std::string bad_list = upgrade + key + v13 + "Sec-WebSocket-Extensions: ;\r\n";
    const std::string foreign = upgrade + key + v13 + "Origin: http://evil.example\r\n";
    const std::string null_origin = upgrade + key + v13 + "Origin: null\r\n";
    const std::vector<row> rows{
        {"", "426", "Upgrade: websocket"},
        {no_connection, "426", "Upgrade: websocket"},
        {v8, "426", "Sec-WebSocket-Version: 13"},
        {no_key, "400", ""},
        {short_key, "400", ""},
        {bad_list, "400", ""},
        {foreign, "403", ""},
        {null_origin, "403", ""},
    };
    for (const row& r : rows) {
        http::router routes;
        const auto route = websocket::route(routes, "/ws", echo_handler);
        chat_world w(1, routes);
        w.run([&r](chat_world& in) -> task<> {
            peer p = co_await in.in.connect();
            std::string request = "GET /ws HTTP/1.1\r\nHost: x\r\n";
            request.append(r.fields).append("\r\n");
            co_await p.send(std::move(request));
            const std::string response = co_await read_response(p);
            EXPECT_TRUE(response.starts_with("HTTP/1.1 " + std::string(r.status) + " "))
                << r.fields << response;
            EXPECT_NE(response.find(r.field), std::string::npos) << r.fields << response;
        });
        EXPECT_EQ(route.counters().connections, 0U);
    }
}

TEST(websocket_handshake, looks_at_the_origin_as_it_is_told) {
    struct row {
        websocket::origins allowed;
        std::string_view origin;
        bool accepted;
    };
    const std::vector<row> rows{
        {websocket::origins::same(), "http://x", true},
        {websocket::origins::same(), "https://X", true},
        {websocket::origins::same(), "http://x:81", false},
        {websocket::origins::same(), "http://y", false},
        {websocket::origins::any(), "http://y", true},
        {websocket::origins::any(), "null", true},
        {websocket::origins::list({"http://a", "https://b"}), "https://b", true},
        {websocket::origins::list({"http://a", "https://b"}), "http://b", false},
        {websocket::origins::list({"http://a"}), "http://x", true},
    };
    for (const row& r : rows) {
        websocket::route_options o;
        o.origins = r.allowed;
        http::router routes;
        const auto route = websocket::route(routes, "/ws", o, echo_handler);
        chat_world w(1, routes);
        w.run([&r](chat_world& in) -> task<> {
            raw_peer p = co_await in.connect();
            const std::string head =
                co_await p.shake_hands("/ws", "Origin: " + std::string(r.origin) + "\r\n");
            EXPECT_EQ(head.starts_with("HTTP/1.1 101 "), r.accepted) << r.origin << head;
            if (!r.accepted) co_return;
            co_await p.send(close_frame(close_code::normal));
            co_await p.read_close();
        });
        EXPECT_EQ(route.counters().origin, r.accepted ? 0U : 1U);
    }
}

TEST(websocket_handshake, chooses_a_subprotocol_and_compression) {
    websocket::route_options o;
    o.subprotocols = {"v2.chat", "v1.chat"};
    o.compression.mode = websocket::compression_mode::per_message;
    const auto handler = [](websocket::connection& ws) -> task<> {
        std::string text(ws.subprotocol());
        if (ws.is_compressed()) text += " packed";
        co_await ws.send(text);
    };
    on_route(o, handler, [](chat_world& w, const auto&) -> task<> {
        raw_peer p = co_await w.connect();
        const std::string head = co_await p.shake_hands(
            "/ws",
            "Sec-WebSocket-Protocol: v1.chat, other\r\nSec-WebSocket-Protocol: v2.chat\r\n"
            "Sec-WebSocket-Extensions: permessage-deflate\r\n");
        EXPECT_NE(head.find("\r\nSec-WebSocket-Protocol: v2.chat\r\n"), std::string::npos) << head;
        EXPECT_NE(head.find("\r\nSec-WebSocket-Extensions: permessage-deflate; "),
                  std::string::npos)
            << head;
        const std::string text = co_await p.read_text();
        EXPECT_EQ(text, "v2.chat packed");
        const close_code code = co_await p.read_close();
        EXPECT_EQ(code, close_code::normal);
        raw_peer other = co_await w.connect();
        const std::string plain =
            co_await other.shake_hands("/ws", "Sec-WebSocket-Protocol: v3.chat\r\n");
        EXPECT_EQ(plain.find("Sec-WebSocket-Protocol"), std::string::npos) << plain;
        const std::string said = co_await other.read_text();
        EXPECT_EQ(said, "");
        co_await other.read_close();
    });
}

TEST(websocket_handshake, gives_the_handler_what_the_request_has) {
    http::router routes;
    websocket::route(routes, "/rooms/{room}/{seat}",
                     [](websocket::connection& ws, http::path<"room"> room,
                        http::path<"seat", int> seat, http::request& req) -> task<> {
                         std::string text(*room);
                         text += ' ' + std::to_string(*seat) + ' ';
                         text += req.query("as").value_or("nobody");
                         text += ws.request().header("X-Boat");
                         co_await ws.send(text);
                     });
    chat_world w(1, routes);
    w.run([](chat_world& in) -> task<> {
        raw_peer p = co_await in.connect();
        co_await p.shake_hands("/rooms/harbour/7?as=me", "X-Boat: !\r\n");
        const std::string text = co_await p.read_text();
        EXPECT_EQ(text, "harbour 7 me!");
        co_await p.read_close();
        raw_peer bad = co_await in.connect();
        const std::string head = co_await bad.shake_hands("/rooms/harbour/x");
        EXPECT_TRUE(head.starts_with("HTTP/1.1 400 ")) << head;
    });
}

TEST(websocket_handshake, may_be_followed_by_frames_at_once) {
    on_route({}, echo_handler, [](chat_world& w, const auto&) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.send(handshake("/ws") + frame(frame_opcode::text, "early") +
                        frame(frame_opcode::text, "bird") + close_frame(close_code::normal));
        co_await p.stream().read_until("\r\n\r\n");
        const std::string first = co_await p.read_text();
        const std::string second = co_await p.read_text();
        EXPECT_EQ(first + second, "earlybird");
        co_await p.read_close();
    });
}

// ---- messages

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

// ---- the peer breaks rules

TEST(websocket_server, closes_with_the_right_code_when_rules_are_broken) {
    struct row {
        std::string bytes;
        close_code code;
        const char* why;
    };
    const std::string hello = frame(frame_opcode::text, "Hello");
    std::vector<row> rows;
    const auto add = [&](std::string bytes, close_code code, const char* why) {
        rows.push_back({std::move(bytes), code, why});
    };
    add(frame(frame_opcode::text, "Hello", role::server), close_code::protocol_error, "not masked");
    add("\xc1\x80" + std::string(4, 'k'), close_code::protocol_error, "RSV1");
    add("\x83\x80" + std::string(4, 'k'), close_code::protocol_error, "opcode 3");
    add("\x09\x80" + std::string(4, 'k'), close_code::protocol_error, "a fragment of a ping");
    add("\x89\xfe", close_code::protocol_error, "a long ping");
    add("\x80\x80" + std::string(4, 'k'), close_code::protocol_error, "a continuation of nothing");
    add(frame(frame_opcode::text, "a", role::client, false) + hello, close_code::protocol_error,
        "a message in a message");
    add(frame(frame_opcode::close, "x"), close_code::protocol_error, "a close frame of one byte");
    add(close_frame(static_cast<close_code>(1005)), close_code::protocol_error, "code 1005");
    add(frame(frame_opcode::text, "\xff"), close_code::invalid_data, "no UTF-8");
    add(close_frame(close_code::normal, "\xff"), close_code::invalid_data, "no UTF-8 as reason");
    add(std::string("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff", 10) + "kkkk" + "boat",
        close_code::message_too_big, "63 bits");
    add(std::string("\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff", 10) + "kkkk" + "boat",
        close_code::protocol_error, "64 bits");
    add(frame(frame_opcode::close, ""), close_code::no_status, "a close frame without a code");
    for (const row& r : rows) {
        const auto one = [&r](chat_world& w, const auto& route) -> task<> {
            co_await expect_close(w, r.bytes, r.code, r.why);
            const auto c = route.counters();
            const bool orderly = r.code == close_code::no_status;
            EXPECT_EQ(c.protocol_errors + c.invalid_data + c.message_too_big, orderly ? 0U : 1U)
                << r.why;
            EXPECT_EQ(c.handler_errors, 0U) << r.why;
        };
        on_route({}, echo_handler, one, 4);
    }
}

TEST(websocket_server, tells_its_handler_what_is_wrong) {
    std::error_code seen;
    const auto handler = [&seen](websocket::connection& ws) -> task<> {
        auto receiving = ws.receive();
        auto message = co_await as_result(receiving);
        if (!message) seen = message.error().code();
    };
    on_route({}, handler, [&](chat_world& w, const auto&) -> task<> {
        co_await expect_close(w, frame(frame_opcode::text, "\xff"), close_code::invalid_data,
                              "text");
        EXPECT_EQ(seen, make_error_code(websocket::fault::invalid_utf8));
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        p.stream().close(false);
        co_await sleep_for(1s);
        EXPECT_EQ(seen, make_error_code(coracle::errc::end_of_stream));
    });
}

TEST(websocket_limits, of_a_message_hold_at_below_and_above) {
    websocket::route_options o;
    o.limits.message = 1000;
    on_route(o, echo_handler, [](chat_world& w, const auto& route) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        for (const std::size_t n : {999U, 1000U}) {
            co_await p.send_text(repeated(n));
            const std::string text = co_await p.read_text();
            EXPECT_EQ(text.size(), n);
        }
        std::string pieces = frame(frame_opcode::text, repeated(600), role::client, false);
        co_await p.send(pieces + frame(frame_opcode::continuation, repeated(400)));
        const std::string text = co_await p.read_text();
        EXPECT_EQ(text.size(), 1000U);
        // The header alone shows it.
        co_await p.send(pieces + frame(frame_opcode::continuation, repeated(401)).substr(0, 9));
        const close_code code = co_await p.read_close();
        EXPECT_EQ(code, close_code::message_too_big);
        EXPECT_EQ(route.counters().message_too_big, 1U);
    });
}

TEST(websocket_limits, of_fragments_hold_at_and_above) {
    websocket::route_options o;
    o.limits.fragments = 4;
    on_route(o, echo_handler, [](chat_world& w, const auto& route) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        const std::string part = frame(frame_opcode::continuation, "", role::client, false);
        const std::string first = frame(frame_opcode::text, "a", role::client, false);
        co_await p.send(first + part + part + frame(frame_opcode::continuation, "b"));
        const std::string text = co_await p.read_text();
        EXPECT_EQ(text, "ab");
        co_await p.send(first + part + part + part + part);
        const close_code code = co_await p.read_close();
        EXPECT_EQ(code, close_code::policy_violation);
        EXPECT_EQ(route.counters().too_many_fragments, 1U);
    });
}

TEST(websocket_limits, hold_while_a_bomb_is_inflated) {
    websocket::route_options o;
    o.limits.message = 100'000;
    o.compression.mode = websocket::compression_mode::with_context;
    on_route(
        o, echo_handler,
        [](chat_world& w, const auto& route) -> task<> {
            coding::raw_deflater d(15, 9);
            std::string packed(200'000, '\0');
            const std::string zeros(50'000'000, '0');
            const auto r = d.encode(zeros, packed, coding::encode_action::flush);
            EXPECT_TRUE(r.done);
            packed.resize(r.produced - 4);
            raw_peer p = co_await w.connect();
            co_await p.shake_hands("/ws", "Sec-WebSocket-Extensions: permessage-deflate\r\n");
            auto sending = p.send(frame(frame_opcode::text, packed, role::client, true, true));
            co_await as_result(std::move(sending));
            const close_code code = co_await p.read_close();
            EXPECT_EQ(code, close_code::message_too_big);
            EXPECT_EQ(route.counters().message_too_big, 1U);
        },
        2);
}

TEST(websocket_limits, make_one_pong_of_many_pings_that_nobody_reads) {
    websocket::route_options o;
    o.timeouts.write = 1h;
    const auto flooding = [](websocket::connection& ws) -> task<> {
        // Fills what the peer does not read.
        co_await ws.send(websocket::message_type::binary, repeated(4'000'000));
        co_await echo(ws);
    };
    on_route(
        o, flooding,
        [](chat_world& w, const auto& route) -> task<> {
            raw_peer p = co_await w.connect();
            co_await p.shake_hands("/ws");
            std::string pings;
            for (int i = 0; i != 1000; ++i) pings += frame(frame_opcode::ping, std::to_string(i));
            co_await p.send(pings);
            co_await sleep_for(1min);
            EXPECT_GT(route.counters().pongs_merged, 900U);
            std::string last;
            int pongs = 0;
            while (last != "999") {
                const auto f = co_await p.read();
                if (f.code() != frame_opcode::pong) continue;
                ++pongs;
                last = f.payload;
            }
            EXPECT_LE(pongs, 40);
            co_await p.send(close_frame(close_code::normal));
            co_await p.read_close();
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

// ---- how it ends

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
    // One that gives no close frame.
    const auto closing = [](websocket::connection& ws) -> task<> { co_await ws.close(); };
    on_route(o, closing, [](chat_world& w, const auto& route) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        const time_point begun = w.in.sim.now();
        const auto f = co_await p.read();
        EXPECT_EQ(f.code(), frame_opcode::close);
        co_await p.stream().read_to_end();
        EXPECT_GE(w.in.since(begun), 3s);
        EXPECT_LE(w.in.since(begun), 4s);
        EXPECT_EQ(route.counters().close_timeouts, 1U);
    });
}

TEST(websocket_timeouts, end_what_does_not_move_or_lives_too_long) {
    websocket::route_options o;
    o.timeouts.write = 7s;
    const auto flooding = [](websocket::connection& ws) -> task<> {
        const std::string text = repeated(100'000);
        for (;;) co_await ws.send(text);
    };
    on_route(o, flooding, [](chat_world& w, const auto& route) -> task<> {
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
    for (const std::uint64_t seed : seeds(few_seeds)) {
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
    for (const std::uint64_t seed : seeds(few_seeds)) {
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
