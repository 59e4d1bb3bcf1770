// Upgrades that a client asks for over HTTP/2 (RFC 8441): streams of bytes over one stream each.

#include "support/h2_script.hpp"

#include <coracle/http/client.hpp>
#include <coracle/http/server.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/peer.hpp>
#include <coracle/testing/simulation.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using h2_code = http::h2::error_code;
using connection = h2_script_connection;
using request = h2_script_stream;

http::client_options over_h2() {
    http::client_options o;
    o.proxy_from_environment = false;
    o.http_version = http::version_choice::http_2;
    return o;
}

std::string text(std::size_t n) {
    std::string s(n, '\0');
    for (std::size_t i = 0; i != n; ++i) s[i] = static_cast<char>('a' + i * 7 % 26);
    return s;
}

/// Runs `body` in simulations of its own.
template <class F>
void simulated(F body, std::uint64_t seeds = 5) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        simulation_options options;
        options.seed = seed;
        simulation sim(options);
        sim.run(body);
        EXPECT_EQ(sim.backend().open_descriptors(), 0u) << seed;
    }
}

/// Runs `body` beside a server of which the test decides each step.
template <class F>
void with_peer(F body, http::client_options o = over_h2()) {
    simulated([&]() -> task<> {
        h2_script_server peer;
        peer.on_head = [](connection& c, request& r) { c.respond(r, 200, {}, {}, false); };
        http::client client(o);
        bool finished = false;
        const auto block = [&](task_group& group) -> task<> {
            group.spawn([&] { return peer.serve(group); });
            co_await body(peer, client);
            finished = true;
            group.cancel();
        };
        const auto ended = co_await as_result(with_task_group(block));
        EXPECT_TRUE(finished) << (ended ? error() : ended.error());
    });
}

task<std::unique_ptr<net::byte_stream>> open_tunnel(http::client& client, std::string url) {
    auto asking = client.get(url).upgrade("echo");
    auto response = co_await asking;
    EXPECT_EQ(response.status(), http::status::ok);
    EXPECT_EQ(response.info()->version, http::version::http_2);
    auto switched = response.detach();
    EXPECT_TRUE(switched.has_value());
    if (!switched) co_return nullptr;
    EXPECT_FALSE(response.detach());
    EXPECT_TRUE(switched->received.empty());
    co_return std::move(switched->stream);
}

/// Waits until the server has received so much.
task<> until_size(const std::string& text, std::size_t n) {
    while (text.size() < n) co_await sleep_for(1ms);
}

TEST(client_h2_upgrades, open_a_stream_of_bytes) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        std::unique_ptr<net::byte_stream> tunnel =
            co_await open_tunnel(client, peer.url("/chat?room=1"));
        if (tunnel == nullptr) co_return;
        connection& c = *peer.connections.at(0);
        request& r = *c.streams.at(0);
        EXPECT_EQ(r.method, "CONNECT");
        EXPECT_EQ(r.protocol, "echo");
        EXPECT_EQ(r.path, "/chat?room=1");
        EXPECT_EQ("http://" + r.authority + "/chat?room=1", peer.url("/chat?room=1"));
        EXPECT_EQ(r.fields.count("upgrade"), 0u);
        EXPECT_EQ(r.fields.count("connection"), 0u);
        EXPECT_EQ(r.fields.count("content-length"), 0u);
        EXPECT_FALSE(r.complete);
        EXPECT_EQ(tunnel->peer().to_string(), r.authority);
        // Other calls go over the same connection.
        peer.on_head = nullptr;
        peer.on_end = [](connection& on, request& q) {
            if (q.protocol.empty()) on.respond(q, "plain");
        };
        const auto beside = co_await client.get(peer.url()).full();
        EXPECT_EQ(beside.body, "plain");
        EXPECT_EQ(peer.connections.size(), 1u);

        const std::string much = text(300'000);
        testing::peer other(std::move(tunnel));
        co_await other.send(much);
        co_await until_size(r.body, much.size());
        EXPECT_EQ(r.body, much);
        c.send(r, much, false);
        const std::string heard = co_await other.read_exactly(much.size());
        EXPECT_EQ(heard, much);
        other.shutdown_output();
        while (!r.complete) co_await sleep_for(1ms);
        c.send(r, "end", true);
        EXPECT_EQ(co_await other.read_exactly(3), "end");
        co_await other.expect_close();
        EXPECT_EQ(client.statistics().connections, 1u);
    });
}

TEST(client_h2_upgrades, go_over_http_1_where_the_server_does_not_offer_them) {
    simulated([]() -> task<> {
        const auto echo = [](http::upgraded_connection& c) -> task<> {
            co_await c.stream.send("old");
        };
        // In clear, and speaking both: with prior knowledge the client asks for HTTP/2 first.
        int over_h1 = 0;
        local_server server(*loop::current(), [&](http::request& req) {
            if (req.version() == http::version::http_1_1) ++over_h1;
            return http::upgrade("other", echo);
        });
        http::client client(over_h2());
        auto refused = client.get(server.url()).upgrade("echo");
        auto response = co_await refused;
        EXPECT_EQ(response.status(), http::status::not_implemented);
        EXPECT_FALSE(response.detach());
        EXPECT_EQ(over_h1, 0);
        co_await response.text();
        server.stop();
        co_await server.stopped();
    });
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        peer.tunnels = false;
        // It speaks HTTP/2 only, and takes what comes for a preface that is none.
        auto asking = client.get(peer.url()).upgrade("echo");
        const auto response = co_await as_result(asking);
        EXPECT_FALSE(response);
        EXPECT_EQ(peer.connections.size(), 2u);
        EXPECT_TRUE(peer.connections.at(0)->streams.empty());
        // The next one does not ask again.
        auto again = client.get(peer.url()).upgrade("echo");
        static_cast<void>(co_await as_result(again));
        EXPECT_EQ(peer.connections.size(), 3u);
    });
}

TEST(client_h2_upgrades, that_are_refused_are_responses) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        peer.on_head = [](connection& c, request& r) { c.respond(r, 404, {}, "why?"); };
        auto asking = client.get(peer.url()).upgrade("echo");
        auto response = co_await asking;
        EXPECT_EQ(response.status(), http::status::not_found);
        EXPECT_FALSE(response.detach());
        EXPECT_EQ(co_await response.text(), "why?");
        const auto next = co_await client.get(peer.url()).full();
        EXPECT_EQ(next.body, "why?");
        EXPECT_EQ(peer.connections.size(), 1u);
    });
}

TEST(client_h2_upgrades, fail_like_a_connection_that_is_reset) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        auto tunnel = co_await open_tunnel(client, peer.url());
        if (tunnel == nullptr) co_return;
        connection& c = *peer.connections.at(0);
        request& r = *c.streams.at(0);
        c.send(r, "last", false, [&c, &r] { c.reset(r, h2_code::cancel); });
        EXPECT_EQ((co_await tunnel->receive()).view(), "last");
        auto nothing = co_await as_result(tunnel->receive());
        EXPECT_TRUE(!nothing && nothing.error() == std::errc::connection_reset);
        auto sent = co_await as_result(tunnel->send("x"));
        EXPECT_TRUE(!sent && sent.error() == std::errc::connection_reset);
        tunnel.reset();
        // The connection carries on, or is lost.
        auto second = co_await open_tunnel(client, peer.url());
        EXPECT_EQ(peer.connections.size(), 1u);
        c.close();
        auto lost = co_await as_result(second->receive());
        EXPECT_TRUE(!lost && lost.error() == std::errc::connection_reset);
        second.reset();
        EXPECT_EQ(client.statistics().connections, 0u);
    });
}

TEST(client_h2_upgrades, that_are_let_go_end_their_stream_and_give_its_place_back) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        auto tunnel = co_await open_tunnel(client, peer.url());
        if (tunnel == nullptr) co_return;
        connection& c = *peer.connections.at(0);
        request& r = *c.streams.at(0);
        const std::string much = text(200'000);
        co_await tunnel->send(much);
        tunnel.reset();
        while (!r.complete) co_await sleep_for(1ms);
        EXPECT_EQ(r.body, much);
        EXPECT_FALSE(r.reset_by_client);
        c.send(r, "unheard", true);
        co_await sleep_for(1s);
        EXPECT_FALSE(r.reset_by_client);
        EXPECT_EQ(client.statistics().idle, 1u);
        // A server that does not end its side has a little time for it.
        auto second = co_await open_tunnel(client, peer.url());
        second.reset();
        request& silent = *c.streams.at(1);
        co_await sleep_for(1s);
        EXPECT_TRUE(silent.complete);
        EXPECT_FALSE(silent.reset_by_client);
        EXPECT_EQ(client.statistics().idle, 0u);
        co_await sleep_for(2s);
        EXPECT_EQ(silent.reset_by_client, h2_code::cancel);
        EXPECT_EQ(client.statistics().idle, 1u);
        // One that is closed with a reset is cut at once.
        auto third = co_await open_tunnel(client, peer.url());
        third->close(true);
        third.reset();
        co_await sleep_for(100ms);
        EXPECT_EQ(c.streams.at(2)->reset_by_client, h2_code::cancel);
        EXPECT_EQ(client.statistics().idle, 1u);
    });
}

TEST(client_h2_upgrades, that_are_let_go_wait_for_a_server_as_long_as_it_takes_something) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        peer.limits.stream_window = peer.limits.max_stream_window = 2000;
        auto tunnel = co_await open_tunnel(client, peer.url());
        if (tunnel == nullptr) co_return;
        connection& c = *peer.connections.at(0);
        request& r = *c.streams.at(0);
        c.consumes = false;
        const std::string much = text(4000);
        co_await tunnel->send(much);
        tunnel.reset();
        co_await sleep_for(25s);
        EXPECT_EQ(r.body.size(), 2000U);
        c.session().consume(r, 1000, loop::current()->now().time_since_epoch());
        c.wake();
        co_await sleep_for(35s);
        EXPECT_EQ(r.body.size(), 3000U);
        EXPECT_FALSE(r.reset_by_client);
        co_await sleep_for(30s);
        EXPECT_EQ(r.reset_by_client, h2_code::cancel);
        EXPECT_EQ(client.statistics().idle, 1u);
    });
}

TEST(client_h2_upgrades, that_nobody_takes_are_cut) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        {
            auto asking = client.get(peer.url()).upgrade("echo");
            auto response = co_await asking;
            EXPECT_TRUE(response.ok());
        }
        co_await sleep_for(100ms);
        EXPECT_EQ(peer.connections.at(0)->streams.at(0)->reset_by_client, h2_code::cancel);
        EXPECT_EQ(client.statistics().idle, 1u);
    });
}

TEST(client_h2_upgrades, outlive_their_client) {
    simulated([]() -> task<> {
        const auto echo = [](http::upgraded_connection& c) -> task<> {
            for (;;) {
                auto bytes = co_await as_result(c.stream.receive());
                if (!bytes) break;
                co_await c.stream.send(bytes->view());
            }
        };
        local_server server(*loop::current(),
                            [&](http::request&) { return http::upgrade("echo", echo); });
        std::unique_ptr<net::byte_stream> tunnel;
        {
            http::client client(over_h2());
            tunnel = co_await open_tunnel(client, server.url());
        }
        if (tunnel == nullptr) co_return;
        const std::string much = text(500'000);
        peer other(std::move(tunnel));
        const auto send = [&]() -> task<> { co_await other.send(much); };
        std::string heard;
        const auto read = [&]() -> task<> { heard = co_await other.read_exactly(much.size()); };
        co_await when_all(send(), read());
        EXPECT_EQ(heard, much);
        other.shutdown_output();
        co_await other.expect_close();
        other = peer(nullptr);
        server.stop();
        co_await server.stopped();
    });
}

TEST(client_h2_upgrades, end_with_the_loop) {
    std::unique_ptr<net::byte_stream> tunnel;
    simulation sim;
    sim.run([&]() -> task<> {
        local_server server(*loop::current(), [](http::request&) {
            return http::upgrade("echo", [](http::upgraded_connection& c) -> task<> {
                static_cast<void>(co_await as_result(c.stream.receive()));
            });
        });
        http::client client(over_h2());
        tunnel = co_await open_tunnel(client, server.url());
    });
    tunnel.reset();
}

}  // namespace
}  // namespace coracle::testing
