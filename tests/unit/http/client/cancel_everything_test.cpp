#include "support/cancel_everywhere.hpp"

#include <coracle/http/client.hpp>
#include <coracle/testing/local_server.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>

// As tests/unit/runtime/cancel_everything_test.cpp, for the calls of a client.

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

struct client_row : cancel_row {
    static constexpr bool again = true;
    std::optional<local_server> server;
    std::optional<http::client> client;
    std::string url;

    task<> prepare() {
        server.emplace(*loop::current(), [](http::request& req) -> task<http::response> {
            std::string text = co_await req.body().text();
            co_return http::response(text + " was received");
        });
        http::client_options o;
        o.proxy_from_environment = false;
        o.insecure = true;  // reads no certificates of the system's
        client.emplace(std::move(o));
        url = server->url();
        co_return;
    }
    task<> finish() {
        // Connections that were cut are noticed by and by.
        co_await sleep_for(10ms);
        const http::client_statistics s = client->statistics();
        EXPECT_EQ(s.connections, s.idle);
        EXPECT_EQ(s.waiting, 0u);
        client.reset();
        server->stop();
        co_await server->stopped();
    }
};

struct get_row : client_row {
    auto make() { return client->get(url); }
};

struct reused_row : client_row {
    task<> prepare() {
        co_await client_row::prepare();
        auto first = co_await client->get(url);
        co_await first.text();
    }
    auto make() { return client->get(url); }
};

struct whole_row : client_row {
    std::optional<http::call> call;
    auto make() {
        call.emplace(client->post(url).body(http::body(std::string(300'000, 'x'))));
        return call->full();
    }
};

struct upload_row : client_row {
    static task<> write(http::body_writer& out) {
        const std::string piece(20'000, 'x');
        for (int i = 0; i != 5; ++i) {
            co_await out.write(piece);
            co_await yield();
        }
    }
    auto make() { return client->post(url).body(http::body::stream(&write)); }
};

struct asking_row : client_row {
    auto make() {
        http::client_options o = client->defaults();
        o.expect_continue_above = 1;
        return client->post(url).options(o).body(http::body("asks first"));
    }
};

/// Behind another call that has the only connection.
struct waiting_row : client_row {
    task<> prepare() {
        co_await client_row::prepare();
        http::client_options o;
        o.proxy_from_environment = false;
        o.insecure = true;  // reads no certificates of the system's
        http::pool_options p;
        p.connections_per_host = 1;
        client.emplace(std::move(o), p);
        other.emplace(co_await client->get(url));
    }
    task<> help() {
        co_await turns(5);
        other.reset();
        // Another one gives it back.
        auto next = co_await client->get(url);
        co_await next.text();
    }
    auto make() { return client->get(url); }
    std::optional<http::response> other;
};

class cancelling_calls : public ::testing::TestWithParam<cancel_case> {};

}  // namespace

TEST_P(cancelling_calls, ends_it_wherever_it_waits_and_leaves_nothing_behind) {
    GetParam().run();
}

INSTANTIATE_TEST_SUITE_P(client, cancelling_calls,
                         ::testing::Values(row<get_row>("get"), row<reused_row>("reused"),
                                           row<whole_row>("whole"), row<upload_row>("upload"),
                                           row<asking_row>("asking"), row<waiting_row>("waiting")),
                         [](const auto& p) { return test_name(p.param.name); });
