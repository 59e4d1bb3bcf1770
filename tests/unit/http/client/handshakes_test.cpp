#include <coracle/http/client.hpp>
#include <coracle/net/listener.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/peer.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

// How many TLS handshakes a client has under way with one origin.

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

constexpr unsigned calls = 20;
constexpr unsigned limit = 4;

http::client make_client(unsigned handshakes) {
    http::client_options o;
    o.proxy_from_environment = false;
    o.insecure = true;  // reads no certificates of the system's
    // Else all wait for what the first connection speaks.
    o.http_version = http::version_choice::http_1_1;
    http::pool_options p;
    p.handshakes = handshakes;
    return http::client(std::move(o), p);
}

simulation_options peer_at(duration distance) {
    simulation_options o;
    o.latency_min = o.latency_max = distance;
    return o;
}

/// A server that hears what clients say first, and never responds.
class silent_server {
public:
    unsigned hellos() const noexcept { return hellos_; }
    std::string url() const { return "https://" + listener_.local().to_string() + '/'; }
    task<> serve(task_group& group) {
        for (unsigned i = 0; i != calls; ++i) {
            std::unique_ptr<net::byte_stream> s = co_await listener_.accept();
            group.spawn(
                [this, stream = std::move(s)]() mutable { return hear(std::move(stream)); });
        }
    }

private:
    task<> hear(std::unique_ptr<net::byte_stream> s) {
        peer caller(std::move(s));
        const auto first = co_await as_result(caller.read_exactly(1));
        if (!first) co_return;
        ++hellos_;
        co_await caller.read_to_end();
    }

    net::listener listener_ =
        net::listener::open(*loop::current(), net::address::parse("127.0.0.1:0").value()).value();
    unsigned hellos_ = 0;
};

/// Calls a silent server from so far away, and gives how many hellos it has heard after each of
/// these times.
std::vector<unsigned> hellos_at(duration distance, unsigned handshakes,
                                const std::vector<duration>& times, duration total = 10s) {
    simulation sim(peer_at(distance));
    std::vector<unsigned> heard;
    sim.run([&]() -> task<> {
        silent_server server;
        http::client client = make_client(handshakes);
        const auto call = [&]() -> task<> {
            const time_point began = sim.now();
            const auto response = co_await as_result(client.get(server.url()).timeout(total));
            EXPECT_TRUE(!response && response.error() == std::errc::timed_out);
            EXPECT_TRUE(!response && response.error().phase() == phase::tls);
            // Timers fire up to 1/16 of their time late.
            EXPECT_LE(sim.now() - began, total + total / 8);
        };
        const auto block = [&](task_group& group) -> task<> {
            group.spawn([&] { return server.serve(group); });
            for (unsigned i = 0; i != calls; ++i) group.spawn(call);
            const time_point began = sim.now();
            for (const duration at : times) {
                co_await sleep_until(began + at);
                heard.push_back(server.hellos());
            }
        };
        co_await with_task_group(block);
    });
    EXPECT_EQ(sim.backend().open_descriptors(), 0u);
    return heard;
}

}  // namespace

TEST(client_handshakes, are_few_at_a_time_where_the_peer_is_near_and_wait_only_so_long) {
    EXPECT_EQ(hellos_at(100us, limit, {40ms, 70ms}), (std::vector{limit, calls}));
}

TEST(client_handshakes, wait_for_no_server_that_is_silent_more_than_once) {
    simulation sim(peer_at(100us));
    sim.run([&]() -> task<> {
        silent_server server;
        http::client client = make_client(limit);
        const auto block = [&](task_group& group) -> task<> {
            group.spawn([&] { return server.serve(group); });
            const auto call = [&]() -> task<> {
                static_cast<void>(co_await as_result(client.get(server.url()).timeout(1s)));
            };
            for (unsigned i = 0; i != calls - 1; ++i) group.spawn(call);
            co_await sleep_for(100ms);
            EXPECT_EQ(server.hellos(), calls - 1);
            group.spawn(call);
            co_await sleep_for(5ms);
            EXPECT_EQ(server.hellos(), calls);
        };
        co_await with_task_group(block);
    });
}

TEST(client_handshakes, do_not_wait_for_each_other_where_the_peer_is_far) {
    EXPECT_EQ(hellos_at(10ms, limit, {45ms}), std::vector{calls});
}

TEST(client_handshakes, have_no_limit_that_is_zero) {
    EXPECT_EQ(hellos_at(100us, 0, {10ms}), std::vector{calls});
}

TEST(client_handshakes, that_wait_end_in_time_with_their_calls) {
    EXPECT_EQ(hellos_at(100us, limit, {10ms, 100ms}, 20ms), (std::vector{limit, limit}));
}

TEST(client_handshakes, that_come_later_take_up_sessions) {
    simulation sim(peer_at(100us));
    sim.run([&]() -> task<> {
        local_server_options o;
        o.self_signed = true;
        local_server server(*loop::current(), [](http::request&) { return "hello"; }, o);
        http::client client = make_client(limit);
        const auto call = [&]() -> task<> {
            const auto response = co_await as_result(client.get(server.url()).full());
            EXPECT_TRUE(response && response->body == "hello");
        };
        const auto block = [&](task_group& group) -> task<> {
            for (unsigned i = 0; i != calls; ++i) group.spawn(call);
            co_return;
        };
        co_await with_task_group(block);
        const http::server_counters counted = server.counters();
        EXPECT_EQ(counted.connections, calls);
        // The first have none, and the second when the tickets are still under way.
        EXPECT_GE(counted.tls_resumptions, calls - 2 * limit);
        server.stop();
        co_await server.stopped();
    });
}
