// WebSocket through `forward_to`, whatever version of HTTP each side speaks.

#include <coracle/http/forward.hpp>
#include <coracle/http/router.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/websocket/connect.hpp>
#include <coracle/websocket/route.hpp>

#include <gtest/gtest.h>

#include <string>

namespace coracle::testing {
namespace {

using version = http::version_choice;

http::client_options speaking(version v) {
    http::client_options o;
    o.proxy_from_environment = false;
    o.http_version = v;
    return o;
}

/// Sends back, with the path and whether there was a key: HTTP/2 has none (RFC 8441 section 5).
http::handler echo(std::string& seen) {
    websocket::route_options o;
    o.origins = websocket::origins::any();
    o.subprotocols = {"two", "one"};
    http::router routes;
    routes.use([&seen](http::request& req, const http::handler& next) -> task<http::response> {
        seen = std::string(req.path()) + (req.header("Sec-WebSocket-Key").empty() ? " -" : " key");
        co_return co_await next(req);
    });
    websocket::route(routes, "/v1/ws", o, [](websocket::connection& ws) -> task<> {
        while (auto message = co_await ws.receive()) co_await ws.send(*message);
    });
    return routes;
}

class forwarded_websockets : public ::testing::TestWithParam<std::tuple<version, version>> {};

TEST_P(forwarded_websockets, carry_messages_both_ways_and_their_end) {
    const auto [ours, theirs] = GetParam();
    std::string seen;
    const local_server behind(echo(seen));
    http::client inner(speaking(theirs));
    http::forward_options o;
    o.strip_prefix = "/api";
    const local_server front(http::forward_to(inner, behind.url("/v1"), o));
    http::client outer(speaking(ours));
    const std::string url = "ws" + front.url("/api/ws").substr(4);
    const auto talk = [&]() -> task<> {
        auto connecting = websocket::connect(outer, url);
        connecting.subprotocol("one");
        auto ws = co_await connecting;
        EXPECT_EQ(ws.subprotocol(), "one");
        const std::string large(300'000, 'x');
        for (const std::string& text : {std::string("hello"), large}) {
            co_await ws.send(text);
            const auto back = co_await ws.receive();
            EXPECT_TRUE(back && back->data() == text);
        }
        co_await ws.close();
        EXPECT_TRUE(ws.status().clean);
    };
    block_on(talk);
    EXPECT_EQ(seen, theirs == version::http_2 ? "/v1/ws -" : "/v1/ws key");
}

TEST(forwarded_idle_websockets, are_closed_after_their_time) {
    std::string seen;
    const local_server behind(echo(seen));
    http::client client(speaking(version::http_1_1));
    http::forward_options o;
    o.upgraded_idle = std::chrono::seconds(1);
    const local_server front(http::forward_to(client, behind.url("/v1"), o));
    const auto talk = [&]() -> task<> {
        auto ws = co_await websocket::connect(client, "ws" + front.url("/ws").substr(4));
        co_await ws.send("hello");
        const auto back = co_await ws.receive();
        EXPECT_TRUE(back && back->data() == "hello");
        // Nothing comes any more, but the end, which is that of the connection alone.
        const auto end = co_await as_result(ws.receive());
        EXPECT_FALSE(end && *end);
        EXPECT_FALSE(ws.status().clean);
    };
    block_on(talk);
}

INSTANTIATE_TEST_SUITE_P(each, forwarded_websockets,
                         ::testing::Combine(::testing::Values(version::http_1_1, version::http_2),
                                            ::testing::Values(version::http_1_1, version::http_2)));

}  // namespace
}  // namespace coracle::testing
