// The handshake of a server of WebSocket, against peers that speak bytes, in a simulated world.

#include "integration/websocket/simulated_websocket.hpp"

#include <coracle/http/extract.hpp>
#include <coracle/http/forwarded.hpp>

#include <string>
#include <string_view>
#include <vector>

using namespace simulated_websocket;

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
        {websocket::origins::list({"https://App.B"}), "https://app.b", true},
        {websocket::origins::list({"null"}), "null", true},
        {websocket::origins::list({"https://b"}), "null", false},
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

// A page that came in clear can be changed on its way, and a proxy knows which host it was asked
// for.
TEST(websocket_handshake, leaves_what_middleware_has_set_where_there_is_none) {
    http::router routes;
    routes.use([](http::request& req, const http::handler& next) -> task<http::response> {
        http::response r = co_await next(req);
        r.set("X-Request-Id", "7");
        co_return r;
    });
    websocket::route(routes, "/ws", echo_handler);
    chat_world w(1, routes);
    w.run([](chat_world& in) -> task<> {
        raw_peer p = co_await in.connect();
        co_await p.send("GET /ws HTTP/1.1\r\nHost: x\r\n\r\n");
        const std::string head = co_await p.stream().read_until("\r\n\r\n");
        EXPECT_TRUE(head.starts_with("HTTP/1.1 426 ")) << head;
        EXPECT_NE(head.find("\r\nX-Request-Id: 7\r\n"), head.npos) << head;
        EXPECT_NE(head.find("\r\nUpgrade: websocket\r\n"), head.npos) << head;
        p.stream().close(true);
    });
}

TEST(websocket_handshake, has_no_list_of_origins_that_are_none) {
    for (const char* bad : {"example.com", "https://a/", "https://a:443", "wss://a"}) {
        websocket::route_options o;
        o.origins = websocket::origins::list({"https://good", bad});
        http::router routes;
        const auto add = [&] { websocket::route(routes, "/ws", o, echo_handler); };
        EXPECT_THROW(add(), coracle::exception) << bad;
    }
}

TEST(websocket_handshake, takes_the_origin_that_a_trusted_proxy_was_asked_for) {
    struct row {
        std::string_view proto;
        std::string_view origin;
        bool accepted;
    };
    const std::vector<row> rows{{"https", "https://app", true},
                                {"https", "http://app", false},
                                {"https", "https://x", false},
                                {"http", "http://app", true},
                                {"http", "https://app", true}};
    for (const row& r : rows) {
        http::router routes;
        routes.use(http::trust_proxies({"0.0.0.0/0", "::/0"}, {.forwarded_host = true}));
        const auto route = websocket::route(routes, "/ws", echo_handler);
        chat_world w(1, routes);
        w.run([&r](chat_world& in) -> task<> {
            raw_peer p = co_await in.connect();
            std::string fields = "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-Host: app\r\n";
            fields.append("X-Forwarded-Proto: ").append(r.proto).append("\r\nOrigin: ");
            const std::string head =
                co_await p.shake_hands("/ws", fields.append(r.origin).append("\r\n"));
            EXPECT_EQ(head.starts_with("HTTP/1.1 101 "), r.accepted) << r.origin << head;
            if (!r.accepted) co_return;
            co_await p.send(close_frame(close_code::normal));
            co_await p.read_close();
        });
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
