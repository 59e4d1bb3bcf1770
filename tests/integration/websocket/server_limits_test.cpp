// Peers of WebSocket that break rules and limits: each gets its close code.

#include "integration/websocket/simulated_websocket.hpp"

#include <coracle/runtime/task_group.hpp>

#include <limits>
#include <string>
#include <vector>

using namespace simulated_websocket;

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

TEST(websocket_limits, may_be_none_or_nothing) {
    websocket::route_options o;
    o.limits.message = std::numeric_limits<decltype(o.limits.message)>::max();
    o.limits.unsent = 0;
    o.compression.mode = websocket::compression_mode::with_context;
    on_route(o, echo_handler, [&o](chat_world&, const auto&) -> task<> {
        http::client client;
        auto ws = co_await connect_compressed(client, o.compression.mode);
        for (const std::size_t n : {1U, 3000U, 500'000U}) {
            co_await ws.send(repeated(n));
            auto message = co_await ws.receive();
            EXPECT_EQ(message->data(), repeated(n));
        }
        co_await ws.close();
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

TEST(websocket_limits, of_a_message_hold_where_it_fills_a_block) {
    websocket::route_options o;
    o.limits.message = 12'000;
    on_route(o, echo_handler, [](chat_world& w, const auto& route) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        co_await p.send_text(repeated(12'000));
        const std::string text = co_await p.read_text();
        EXPECT_EQ(text.size(), 12'000U);
        co_await p.send_text(repeated(12'001));
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

/// Sends a thousand pings, and reads after a minute. Returns how many pongs came up to the last.
task<int> pongs_of_a_flood(raw_peer* p) {
    std::string pings;
    for (int i = 0; i != 1000; ++i) pings += frame(frame_opcode::ping, std::to_string(i));
    co_await p->send(pings);
    co_await sleep_for(1min);
    std::string last;
    int pongs = 0;
    while (last != "999") {
        const auto f = co_await p->read();
        if (f.code() != frame_opcode::pong) continue;
        ++pongs;
        last = f.payload;
    }
    co_return pongs;
}

TEST(websocket_limits, keep_the_last_pong_while_the_connection_closes) {
    websocket::route_options o;
    o.timeouts.write = o.timeouts.close = 1h;
    const auto leaving = [](websocket::connection& ws) -> task<> {
        const auto both = [&ws](task_group& g) -> task<> {
            // Fills what the peer does not read.
            g.spawn([&ws]() -> task<> {
                co_await ws.send(websocket::message_type::binary, repeated(4'000'000));
            });
            co_await sleep_for(1s);
            co_await ws.close();
        };
        co_await with_task_group(both);
    };
    on_route(
        o, leaving,
        [](chat_world& w, const auto& route) -> task<> {
            raw_peer p = co_await w.connect();
            co_await p.shake_hands("/ws");
            co_await sleep_for(2s);
            auto flooding = pongs_of_a_flood(&p);
            const int pongs = co_await std::move(flooding);
            EXPECT_GT(route.counters().pongs_merged, 900U);
            EXPECT_LE(pongs, 40);
            co_await p.send(close_frame(close_code::normal));
        },
        3);
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
            auto reading = pongs_of_a_flood(&p);
            const int pongs = co_await std::move(reading);
            EXPECT_GT(route.counters().pongs_merged, 900U);
            EXPECT_LE(pongs, 40);
            co_await p.send(close_frame(close_code::normal));
            co_await p.read_close();
        },
        3);
}
