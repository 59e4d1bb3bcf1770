// Protocols that take over a connection, through `forward_to`, whatever version of HTTP each side
// speaks: the handshake of WebSocket (RFC 6455, RFC 8441), and then bytes.

#include <coracle/http/forward.hpp>
#include <coracle/mime/base64.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/peer.hpp>
#include <coracle/tls/hash.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tuple>

namespace coracle::testing {
namespace {

using version = http::version_choice;

// RFC 6455 section 1.3.
constexpr std::string_view sample_key = "dGhlIHNhbXBsZSBub25jZQ==";
constexpr std::string_view sample_accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

http::client_options speaking(version v) {
    http::client_options o;
    o.proxy_from_environment = false;
    o.http_version = v;
    return o;
}

std::string acceptance_of(std::string_view key) {
    const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    return mime::base64_encode(tls::digest(tls::hash::sha1, text));
}

/// Sends back what comes, until the end.
task<> send_back(http::upgraded_connection& c) {
    for (;;) {
        auto bytes = co_await as_result(c.stream.receive());
        if (!bytes) break;
        co_await c.stream.send(bytes->view());
    }
}

/// Notes the path and whether there was a key: HTTP/2 has none (RFC 8441 section 5).
http::handler echo(std::string& seen) {
    return [&seen](http::request& req) {
        const std::string_view key = req.header("Sec-WebSocket-Key");
        seen = std::string(req.path()) + (key.empty() ? " -" : " key");
        http::response switched = http::upgrade("websocket", send_back);
        if (!key.empty()) switched.set("Sec-WebSocket-Accept", acceptance_of(key));
        return switched;
    };
}

http::call asking_for(http::client& client, const std::string& url) {
    http::call asking = client.get(url);
    asking.upgrade("websocket");
    asking.header("Sec-WebSocket-Version", "13").header("Sec-WebSocket-Key", sample_key);
    return asking;
}

class forwarded_upgrades : public ::testing::TestWithParam<std::tuple<version, version>> {};

TEST_P(forwarded_upgrades, carry_bytes_both_ways_and_their_end) {
    const version ours = std::get<0>(GetParam());
    const version theirs = std::get<1>(GetParam());
    std::string seen;
    const local_server behind(echo(seen));
    http::client inner(speaking(theirs));
    http::forward_options o;
    o.strip_prefix = "/api";
    const local_server front(http::forward_to(inner, behind.url("/v1"), o));
    http::client outer(speaking(ours));
    const auto talk = [&]() -> task<> {
        auto asking = asking_for(outer, front.url("/api/ws"));
        auto response = co_await asking;
        const bool over_h2 = ours == version::http_2;
        EXPECT_EQ(response.status(),
                  over_h2 ? http::status::ok : http::status::switching_protocols);
        EXPECT_EQ(response.header("Sec-WebSocket-Accept"),
                  over_h2 ? std::string_view() : sample_accept);
        auto switched = response.detach();
        EXPECT_TRUE(switched.has_value());
        if (!switched) co_return;
        peer other(std::move(switched->stream));
        co_await other.send("hello");
        const std::string first = co_await other.read_exactly(5);
        EXPECT_EQ(first, "hello");
        const std::string large(300'000, 'x');
        std::string heard;
        const auto send = [&]() -> task<> { co_await other.send(large); };
        const auto read = [&]() -> task<> { heard = co_await other.read_exactly(large.size()); };
        co_await when_all(send(), read());
        EXPECT_EQ(heard, large);
        other.shutdown_output();
        co_await other.expect_close();
    };
    block_on(talk);
    EXPECT_EQ(seen, theirs == version::http_2 ? "/v1/ws -" : "/v1/ws key");
}

TEST(forwarded_idle_upgrades, are_closed_after_their_time) {
    std::string seen;
    const local_server behind(echo(seen));
    http::client client(speaking(version::http_1_1));
    http::forward_options o;
    o.upgraded_idle = std::chrono::milliseconds(50);
    const local_server front(http::forward_to(client, behind.url("/v1"), o));
    const auto talk = [&]() -> task<> {
        auto asking = asking_for(client, front.url("/ws"));
        auto response = co_await asking;
        auto switched = response.detach();
        EXPECT_TRUE(switched.has_value());
        if (!switched) co_return;
        peer other(std::move(switched->stream));
        co_await other.send("hello");
        const std::string heard = co_await other.read_exactly(5);
        EXPECT_EQ(heard, "hello");
        // Nothing comes any more, but the end.
        const std::string more = co_await other.read_to_end();
        EXPECT_EQ(more, "");
    };
    block_on(talk);
}

INSTANTIATE_TEST_SUITE_P(each, forwarded_upgrades,
                         ::testing::Combine(::testing::Values(version::http_1_1, version::http_2),
                                            ::testing::Values(version::http_1_1, version::http_2)));

}  // namespace
}  // namespace coracle::testing
