// Connections that leave HTTP: behind a 101, and behind a CONNECT.

#include "support/client_calls.hpp"
#include "support/connected.hpp"

#include <coracle/http/server.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/peer.hpp>
#include <coracle/testing/scripted_peer.hpp>

#include <gmock/gmock.h>

namespace coracle::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* opened = "HTTP/1.1 200 Connection established\r\n\r\n";

TEST(client_tunnels, are_asked_for_and_taken) {
    const scripted_peer proxy(
        script().read_head().send(std::string(opened) + "early").read_until("ping").send("pong"));
    http::client client;
    block_on([&]() -> task<> {
        auto response = co_await client.connect(proxy.url("/ignored"), "boats.test:443");
        EXPECT_TRUE(response.ok());
        auto tunnel = response.detach();
        EXPECT_FALSE(response.detach());
        EXPECT_TRUE(tunnel.has_value());
        if (!tunnel) co_return;
        EXPECT_EQ(tunnel->received.view(), "early");
        EXPECT_EQ(client.statistics().connections, 0U);
        peer other(std::move(tunnel->stream));
        co_await other.send("ping");
        const std::string heard = co_await other.read_exactly(4);
        EXPECT_EQ(heard, "pong");
    });
    EXPECT_THAT(proxy.record().received,
                AllOf(StartsWith("CONNECT boats.test:443 HTTP/1.1\r\nHost: boats.test:443\r\n"),
                      Not(HasSubstr("Accept-Encoding")), Not(HasSubstr("Content-Length"))));
}

TEST(client_tunnels, outlive_the_client_and_the_response) {
    const scripted_peer proxy(script().read_head().send(opened).read_until("ping").send("pong"));
    block_on([&]() -> task<> {
        std::unique_ptr<net::byte_stream> stream;
        {
            http::client client;
            auto response = co_await client.connect(proxy.url(), "[::1]:1");
            stream = response.detach().value().stream;
        }
        peer other(std::move(stream));
        co_await other.send("ping");
        const std::string heard = co_await other.read_exactly(4);
        EXPECT_EQ(heard, "pong");
    });
}

TEST(client_tunnels, that_are_refused_are_responses) {
    const scripted_peer proxy(
        script().read_head().send("HTTP/1.1 407 No\r\nContent-Length: 4\r\n\r\nwhy?").close());
    http::client client;
    block_on([&]() -> task<> {
        auto response = co_await client.connect(proxy.url(), "boats.test:443");
        EXPECT_EQ(response.status(), http::status::proxy_authentication_required);
        EXPECT_FALSE(response.detach());
        const std::string text = co_await response.text();
        EXPECT_EQ(text, "why?");
    });
}

TEST(client_tunnels, that_nobody_takes_are_closed_with_the_response) {
    const scripted_peer proxy(script().read_head().send(opened).read_to_end());
    http::client client;
    block_on([&]() -> task<> {
        static_cast<void>(co_await client.connect(proxy.url(), "boats.test:443"));
    });
    EXPECT_TRUE(proxy.wait_for_end());
    EXPECT_EQ(client.statistics().connections, 0U);
}

TEST(client_tunnels, have_a_host_and_a_port_and_nothing_else) {
    http::client client;
    for (const char* target : {"", "boats", "boats:", ":443", "boats:0", "boats:443/", "a b:1",
                               "u@boats:443", "boats:65536", "boats:1\r\nX: y"}) {
        EXPECT_EQ(failure_of(client.connect("http://127.0.0.1:1/", target)),
                  std::errc::invalid_argument)
            << target;
    }
    http::client_options o;
    o.proxy = "http://127.0.0.1:1";
    http::client behind(o);
    EXPECT_EQ(failure_of(behind.connect("http://127.0.0.1:1/", "boats:443")),
              std::errc::operation_not_supported);
}

TEST(client_upgrades, give_the_connection_that_switched) {
    const auto echo = [](http::upgraded_connection& c) -> task<> {
        std::string heard = co_await read_exactly(c.stream, 4);
        heard += heard;
        co_await c.stream.send(heard);
    };
    const local_server server([&](http::request&) { return http::upgrade("echo", echo); });
    http::client client;
    block_on([&]() -> task<> {
        auto asking = client.get(server.url());
        asking.header("Connection", "Upgrade").header("Upgrade", "echo");
        auto response = co_await asking;
        EXPECT_EQ(response.status(), http::status::switching_protocols);
        auto switched = response.detach();
        EXPECT_TRUE(switched.has_value());
        if (!switched) co_return;
        peer other(std::move(switched->stream));
        co_await other.send("boat");
        const std::string heard = co_await other.read_exactly(8);
        EXPECT_EQ(heard, "boatboat");
    });
    EXPECT_EQ(client.statistics().connections, 0U);
}

TEST(client_upgrades, go_through_a_tunnel_as_proxies_pass_none_on) {
    script tunnel;
    tunnel.read_head()
        .send("HTTP/1.1 200 OK\r\n\r\n")
        .read_head()
        .respond("no upgrade")
        .read_head();
    const scripted_peer proxy({tunnel, script().read_head().respond("forwarded")});
    http::client_options o;
    o.proxy = proxy.url();
    http::client client(o);
    EXPECT_EQ(client.get("http://boats.test/echo").upgrade("echo").wait().body, "no upgrade");
    const std::string heard = proxy.record().received;
    EXPECT_TRUE(heard.starts_with("CONNECT boats.test:80 HTTP/1.1\r\n")) << heard;
    EXPECT_NE(heard.find("\r\n\r\nGET /echo HTTP/1.1\r\n"), std::string::npos) << heard;
    EXPECT_EQ(client.get("http://boats.test/plain").wait().body, "forwarded");
    EXPECT_TRUE(proxy.record(1).received.starts_with("GET http://boats.test/plain HTTP/1.1\r\n"));
}

TEST(client_upgrades, that_are_not_done_leave_an_ordinary_response) {
    const local_server server(path_of);
    http::client client;
    block_on([&]() -> task<> {
        auto asking = client.get(server.url("/a"));
        asking.header("Connection", "Upgrade").header("Upgrade", "echo");
        auto response = co_await asking;
        EXPECT_FALSE(response.detach());
        const std::string text = co_await response.text();
        EXPECT_EQ(text, "/a");
    });
}

}  // namespace
}  // namespace coracle::testing
