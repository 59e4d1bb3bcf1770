// Each allocation of a WebSocket server and its client fails in turn: a connection may be lost,
// neither side ends, hangs or leaks, and the next connection is served.

#include "hostile/serving_amid_failures.hpp"
#include "support/fail_each.hpp"

#include <coracle/http/client.hpp>
#include <coracle/http/router.hpp>
#include <coracle/http/server.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/websocket/connect.hpp>
#include <coracle/websocket/route.hpp>
#include <coracle/websocket/topics.hpp>

#include <gtest/gtest.h>

#include <string>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using websocket::compression_mode;

struct setting {
    http::version_choice version = http::version_choice::http_1_1;
    compression_mode mode = compression_mode::off;
};

websocket::options options_of(const setting& s) {
    websocket::options o;
    o.compression.mode = s.mode;
    o.timeouts.close = 1s;
    o.timeouts.handler = 1s;
    return o;
}

/// Sends texts of several sizes and expects them back, then what it publishes itself.
task<bool> talk(http::client& client, const std::string& url, const setting& s) {
    auto dialing = websocket::connect(client, url);
    dialing.options(options_of(s)).timeout(5s);
    auto ws = co_await std::move(dialing);
    for (const std::size_t size : {std::size_t{5}, std::size_t{40'000}}) {
        const std::string text(size, 'e');
        co_await ws.send(text);
        auto back = co_await ws.receive();
        if (!back || back->data() != text) co_return false;
    }
    const std::string news = "publish this";
    co_await ws.send(news);
    auto told = co_await ws.receive();
    const bool same = told && told->data() == news;
    co_await ws.close();
    co_return same;
}

task<bool> serve_and_talk(setting s) {
    loop& here = *loop::current();
    websocket::topics topics;
    websocket::route_options o;
    static_cast<websocket::options&>(o) = options_of(s);
    const auto serve_one = [&topics](websocket::connection& ws) -> task<> {
        const auto membership = topics.subscribe(ws, "news");
        while (auto message = co_await ws.receive()) {
            if (message->data().starts_with("publish"))
                topics.publish("news", *message);
            else
                co_await ws.send(std::move(*message));
        }
    };
    http::router routes;
    websocket::route(routes, "/ws", o, serve_one);
    http::server_options so;
    so.listen = "127.0.0.1:0";
    // Nobody comes while it drains.
    so.timeouts.last_accept = duration::zero();
    so.timeouts.drain = 2s;
    http::server server(http::handler(routes), so);
    server.open(here);
    bool served = false;
    bool told = false;
    const auto ask = [&]() -> task<> {
        const stop_at_the_end at_the_end{&server, &told};
        http::client_options co;
        co.proxy_from_environment = false;
        co.http_version = s.version;
        const std::string url = "ws" + server.urls().at(0).substr(4) + "/ws";
        for (int attempt = 0; !served && attempt != 4; ++attempt) {
            try {
                http::client client(co);
                const auto once = [&]() -> task<> { served = co_await talk(client, url, s); };
                co_await with_timeout(10s, once);
            } catch (const std::exception&) {
                served = false;
            }
        }
    };
    auto asking = ask();
    auto serving = serve_amid_failures(&server, &here, &told);
    co_await when_all(std::move(serving), std::move(asking));
    co_return served;
}

class failing_websocket_allocations : public on_each_backend {
protected:
    void SetUp() override {
        on_each_backend::SetUp();
        if (!counts_allocations()) GTEST_SKIP() << "no allocation fails in this build";
    }
};

TEST_P(failing_websocket_allocations, end_no_more_than_a_connection) {
    for (const auto mode : {compression_mode::off, compression_mode::with_context}) {
        fail_each(GetParam(), [mode] { return serve_and_talk({.mode = mode}); });
    }
}

TEST_P(failing_websocket_allocations, end_no_more_than_a_stream_or_its_connection) {
    const setting s{http::version_choice::http_2, compression_mode::per_message};
    fail_each(GetParam(), [s] { return serve_and_talk(s); });
}

INSTANTIATE_TEST_SUITE_P(each_backend, failing_websocket_allocations, system_backends(),
                         backend_name);

}  // namespace
}  // namespace coracle::testing
