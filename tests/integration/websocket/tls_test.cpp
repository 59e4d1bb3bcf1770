// WebSocket over TLS, both sides ours, over HTTP/2 and HTTP/1.1 and real sockets.

#include "support/temporary_directory.hpp"

#include <coracle/http/client.hpp>
#include <coracle/http/router.hpp>
#include <coracle/runtime/offload.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/websocket/reconnecting.hpp>
#include <coracle/websocket/route.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using websocket::compression_mode;

/// A server with TLS whose route "/ws" echoes, says first over which version it was reached, and
/// has a subprotocol and compression.
class websocket_over_tls : public ::testing::TestWithParam<http::version_choice> {
protected:
    static local_server_options serving() {
        local_server_options o;
        o.self_signed = true;
        // Time for the close frames of a drain.
        o.timeouts.drain = 10s;
        return o;
    }
    static http::router routes() {
        websocket::route_options o;
        o.subprotocols = {"chat"};
        o.compression.mode = compression_mode::with_context;
        http::router r;
        websocket::route(r, "/ws", o, [](websocket::connection& ws) -> task<> {
            const bool is_h2 = ws.request().version() == http::version::http_2;
            const std::string_view spoken = is_h2 ? "HTTP/2" : "HTTP/1.1";
            co_await ws.send(spoken);
            while (auto message = co_await ws.receive()) co_await ws.send(*message);
        });
        return r;
    }
    http::client_options trusting() const {
        http::client_options o;
        o.proxy_from_environment = false;
        o.certificates.authorities = files_.write("ca.pem", server.authorities());
        o.http_version = GetParam();
        return o;
    }
    static bool over_h2() { return GetParam() != http::version_choice::http_1_1; }
    std::string url() const { return "wss" + server.url("/ws").substr(5); }

    local_server server{routes(), serving()};

private:
    temporary_directory files_;
};

TEST_P(websocket_over_tls, exchanges_messages) {
    http::client client(trusting());
    block_on([&]() -> task<> {
        const auto talk = [&]() -> task<> {
            auto dialing = websocket::connect(client, url());
            dialing.subprotocol("chat").compression(compression_mode::with_context);
            auto ws = co_await dialing;
            EXPECT_EQ(ws.subprotocol(), "chat");
            EXPECT_TRUE(ws.is_compressed());
            auto first = co_await ws.receive();
            EXPECT_TRUE(first && first->data() == (over_h2() ? "HTTP/2" : "HTTP/1.1"));
            for (const std::size_t size : {0U, 1U, 125U, 126U, 65'535U, 65'536U, 900'000U}) {
                const std::string text(size, 'b');
                const auto send = [&]() -> task<> { co_await ws.send(text); };
                const auto receive = [&]() -> task<> {
                    auto m = co_await ws.receive();
                    EXPECT_TRUE(m && m->data() == text) << size;
                };
                co_await when_all(send(), receive());
            }
            co_await ws.close(websocket::close_code::normal, "bye");
            EXPECT_TRUE(ws.status().clean);
        };
        co_await with_timeout(60s, talk);
    });
    EXPECT_EQ(server.counters().tls_handshakes, 1U);
}

TEST_P(websocket_over_tls, has_a_connection_for_each_socket_over_http_1_only) {
    http::client client(trusting());
    block_on([&]() -> task<> {
        const auto talk = [&]() -> task<> {
            std::vector<websocket::connection> all;
            for (int i = 0; i != 20; ++i) all.push_back(co_await websocket::connect(client, url()));
            for (auto& ws : all) co_await ws.send("boat");
            for (auto& ws : all) {
                auto version = co_await ws.receive();
                auto boat = co_await ws.receive();
                EXPECT_TRUE(version && boat && boat->data() == "boat");
            }
            for (auto& ws : all) co_await ws.close();
        };
        co_await with_timeout(60s, talk);
    });
    EXPECT_EQ(server.counters().connections, over_h2() ? 1U : 20U);
}

TEST_P(websocket_over_tls, closes_with_1001_when_the_server_drains) {
    http::client client(trusting());
    block_on([&]() -> task<> {
        const auto talk = [&]() -> task<> {
            auto ws = co_await websocket::connect(client, url());
            auto version = co_await ws.receive();
            EXPECT_TRUE(version);
            const auto stop_there = [this] { server.stop(); };
            const auto stop = [&]() -> task<> { co_await offload(stop_there); };
            const auto wait = [&]() -> task<> {
                auto nothing = co_await ws.receive();
                EXPECT_FALSE(nothing);
                EXPECT_EQ(ws.status().code, websocket::close_code::going_away);
                EXPECT_TRUE(ws.status().clean && ws.status().by_peer);
            };
            co_await when_all(stop(), wait());
        };
        co_await with_timeout(60s, talk);
    });
    EXPECT_EQ(server.counters().cut_by_drain, 0U);
}

TEST_P(websocket_over_tls, fails_where_the_certificate_is_not_trusted) {
    http::client_options o = trusting();
    o.certificates.authorities.clear();
    http::client client(o);
    block_on([&]() -> task<> {
        auto made = co_await as_result(websocket::connect(client, url()));
        EXPECT_FALSE(made);
        if (made) co_return;
        EXPECT_EQ(made.error().phase(), phase::tls);
        websocket::reconnecting feed(client, url());
        auto received = co_await as_result(with_timeout(30s, feed.receive()));
        EXPECT_FALSE(received);
        if (received) co_return;
        EXPECT_EQ(received.error(), made.error().code());
    });
}

TEST_P(websocket_over_tls, is_not_tried_again_without_the_file_of_authorities) {
    http::client_options o = trusting();
    o.certificates.authorities = "/none/authorities.pem";
    http::client client(o);
    block_on([&]() -> task<> {
        websocket::reconnecting feed(client, url());
        auto received = co_await as_result(with_timeout(30s, feed.receive()));
        EXPECT_FALSE(received);
        if (received) co_return;
        EXPECT_EQ(received.error(), std::errc::no_such_file_or_directory);
    });
}

INSTANTIATE_TEST_SUITE_P(, websocket_over_tls,
                         ::testing::Values(http::version_choice::automatic,
                                           http::version_choice::http_1_1),
                         [](const auto& one) {
                             const bool any = one.param == http::version_choice::automatic;
                             return std::string(any ? "http_2" : "http_1");
                         });

}  // namespace
}  // namespace coracle::testing
