// Idle connections and requests while connections or memory run out, in simulated time.

#include "integration/http/simulated_server.hpp"
#include "support/h2_peer.hpp"

#include <optional>
#include <stdexcept>
#include <vector>

using namespace simulated;

namespace {

http::server_options few_connections(std::uint32_t most) {
    http::server_options o;
    o.limits.connections = most;
    o.timeouts.idle = 60s;
    o.timeouts.idle_at_limit = 5s;
    return o;
}

/// A server whose memory is what the test says.
struct short_of_memory {
    process::memory_use use{0, 1000};
    int reads = 0;
    bool fails = false;

    http::server_options options() {
        http::server_options o;
        o.limits.memory_percent = 90;
        o.memory = [this] {
            ++reads;
            if (fails) throw std::runtime_error("unknown");
            return use;
        };
        return o;
    }
};

task<std::string> response_to(peer* p, std::string request) {
    co_await p->send(std::move(request));
    co_return co_await read_response(*p);
}

}  // namespace

TEST(pressure, leaves_idle_connections_their_time_up_to_three_quarters) {
    world w(1, few_connections(8));
    w.run([](world& in) -> task<> {
        std::vector<peer> six;
        for (int i = 0; i != 6; ++i) six.push_back(co_await in.connect());
        co_await sleep_for(58s);
        EXPECT_EQ(in.counters().open, 6u);
        EXPECT_EQ(in.counters().idle_shortened, 0u);
        co_await sleep_for(4s);
        EXPECT_EQ(in.counters().open, 0u);
        EXPECT_EQ(in.counters().idle_timeouts, 6u);
    });
}

TEST(pressure, closes_the_longest_idle_earlier_the_fewer_are_left) {
    world w(1, few_connections(8));
    w.run([](world& in) -> task<> {
        const time_point began = in.sim.now();
        std::vector<peer> eight;
        for (int i = 0; i != 8; ++i) {
            eight.push_back(co_await in.connect());
            co_await sleep_for(100ms);
        }
        // All are taken: 5 s. Then seven of eight: half of the way from 60 s to 5 s.
        co_await eight[0].expect_close();
        EXPECT_GE(in.since(began), 5s);
        EXPECT_LE(in.since(began), 7s);
        EXPECT_EQ(eight[0].ended(), ending::finished);
        co_await sleep_for(20s);
        EXPECT_EQ(in.counters().idle_shortened, 1u);
        co_await eight[1].expect_close();
        EXPECT_GE(in.since(began), 32s);
        EXPECT_LE(in.since(began), 35s);
        EXPECT_EQ(in.counters().idle_shortened, 2u);
        EXPECT_EQ(in.counters().idle_timeouts, 0u);
        // With six none needs to go.
        const std::string served = co_await response_to(&eight[2], get("/hello"));
        EXPECT_TRUE(served.ends_with("hello"));
        co_await sleep_for(20s);
        EXPECT_EQ(in.counters().open, 6u);
    });
}

TEST(pressure, spares_connections_that_are_used) {
    world w(1, few_connections(4));
    w.run([](world& in) -> task<> {
        std::vector<peer> four;
        for (int i = 0; i != 4; ++i) four.push_back(co_await in.connect());
        for (int second = 0; second != 30; ++second) {
            for (peer& p : four) {
                const std::string served = co_await response_to(&p, get("/hello"));
                EXPECT_TRUE(served.ends_with("hello"));
            }
            co_await sleep_for(1s);
        }
        EXPECT_EQ(in.counters().idle_shortened, 0u);
        EXPECT_EQ(in.counters().open, 4u);
    });
}

TEST(pressure, never_closes_early_where_both_times_are_the_same) {
    http::server_options o = few_connections(4);
    o.timeouts.idle_at_limit = o.timeouts.idle;
    world w(1, o);
    w.run([](world& in) -> task<> {
        std::vector<peer> four;
        for (int i = 0; i != 4; ++i) four.push_back(co_await in.connect());
        co_await sleep_for(58s);
        EXPECT_EQ(in.counters().open, 4u);
        EXPECT_EQ(in.counters().idle_shortened, 0u);
    });
}

TEST(pressure, closes_idle_connections_of_http_2_with_a_goaway) {
    world w(1, few_connections(2));
    w.run([](world& in) -> task<> {
        h2_peer a(co_await in.connect());
        auto& first = a.get("/hello");
        co_await a.until_over(first);
        co_await sleep_for(1s);
        h2_peer b(co_await in.connect());
        auto& second = b.get("/sleep?ms=8000");
        const time_point began = in.sim.now();
        const auto closing = [&a] { return !a.goaways().empty(); };
        co_await b.flush();
        co_await a.until(closing);
        EXPECT_GE(in.since(began), 4s);
        EXPECT_LE(in.since(began), 6s);
        a.connection().close();
        co_await b.until_over(second);
        EXPECT_EQ(second.status, 200);
        EXPECT_EQ(in.counters().idle_shortened, 1u);
    });
}

TEST(pressure, of_peers_of_http_2_that_do_not_close_keeps_no_new_client_waiting) {
    world w(1, few_connections(8));
    w.run([](world& in) -> task<> {
        std::vector<peer> mute;
        for (int i = 0; i != 8; ++i) {
            mute.push_back(co_await in.connect());
            const std::string settings("\0\0\0\4\0\0\0\0\0", 9);
            co_await mute.back().send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings);
        }
        co_await sleep_for(1s);
        for (int i = 0; i != 4; ++i) {
            const time_point began = in.sim.now();
            peer late = co_await in.connect();
            const std::string served = co_await response_to(&late, get("/hello"));
            EXPECT_TRUE(served.ends_with("hello"));
            EXPECT_LT(in.since(began), 100ms);
        }
    });
}

TEST(pressure, of_memory_refuses_requests_and_ends) {
    short_of_memory m;
    world w(1, m.options());
    w.run([&m](world& in) -> task<> {
        peer p = co_await in.connect();
        for (const auto& [used, status] :
             {std::pair{900u, 200}, {901u, 503}, {1000u, 503}, {899u, 200}}) {
            m.use.used = used;
            co_await sleep_for(300ms);
            const std::string response = co_await response_to(&p, get("/hello"));
            EXPECT_TRUE(response.starts_with("HTTP/1.1 " + std::to_string(status))) << used;
            EXPECT_EQ(response.find("Retry-After: 1\r\n") != std::string::npos, status == 503);
            // The next one has the same fate, though memory is not looked at again so soon.
            const std::string next = co_await response_to(&p, get("/hello"));
            EXPECT_TRUE(next.starts_with("HTTP/1.1 " + std::to_string(status))) << used;
        }
        EXPECT_EQ(in.counters().memory_refused, 4u);
        EXPECT_EQ(in.counters().responses_5xx, 4u);
        // A body that comes with a refused request does not disturb the next.
        m.use.used = 950;
        co_await sleep_for(300ms);
        const std::string refused =
            co_await response_to(&p, post("/echo", "Content-Length: 5\r\n", "12345"));
        EXPECT_TRUE(refused.starts_with("HTTP/1.1 503 ")) << refused;
        EXPECT_EQ(in.entered, 0);
        m.use.used = 0;
        co_await sleep_for(300ms);
        const std::string served = co_await response_to(&p, get("/hello"));
        EXPECT_TRUE(served.ends_with("hello")) << served;
    });
}

TEST(pressure, of_memory_refuses_requests_of_http_2) {
    short_of_memory m;
    world w(1, m.options());
    w.run([&m](world& in) -> task<> {
        h2_peer p(co_await in.connect());
        auto& first = p.get("/hello");
        co_await p.until_over(first);
        EXPECT_EQ(first.status, 200);
        m.use.used = 950;
        co_await sleep_for(300ms);
        auto& second = p.get("/hello");
        co_await p.until_over(second);
        EXPECT_EQ(second.status, 503);
        m.use.used = 100;
        co_await sleep_for(300ms);
        auto& third = p.get("/hello");
        co_await p.until_over(third);
        EXPECT_EQ(third.status, 200);
        EXPECT_EQ(in.counters().memory_refused, 1u);
    });
}

TEST(pressure, of_memory_is_looked_at_four_times_a_second_and_seldom_without_requests) {
    short_of_memory m;
    world w(1, m.options());
    w.run([&m](world& in) -> task<> {
        peer p = co_await in.connect();
        for (const unsigned used : {100u, 950u}) {
            m.use.used = used;
            co_await sleep_for(1s);
            m.reads = 0;
            co_await sleep_for(10s);
            EXPECT_LE(m.reads, used == 100 ? 0 : 11);
            m.reads = 0;
            const time_point begun = in.sim.now();
            for (int i = 0; i != 1000; ++i) {
                static_cast<void>(co_await response_to(&p, get("/hello")));
                co_await sleep_for(1ms);
            }
            EXPECT_GE(m.reads, 3);
            EXPECT_LE(m.reads, 4 * (in.since(begun) / 1s + 1) + 1);
        }
    });
}

TEST(pressure, of_memory_shortens_the_time_of_idle_connections) {
    short_of_memory m;
    world w(1, m.options());
    w.run([&m](world& in) -> task<> {
        peer idle = co_await in.connect();
        co_await sleep_for(1s);
        m.use.used = 950;
        peer other = co_await in.connect();
        co_await idle.expect_close();
        EXPECT_EQ(in.counters().idle_shortened, 1u);
    });
}

TEST(pressure, of_memory_that_is_not_known_or_not_limited_is_none) {
    for (const int which : {0, 1, 2}) {
        short_of_memory m;
        http::server_options o = m.options();
        m.use.used = 1000;
        if (which == 0) m.use.limit = 0;
        if (which == 1) m.fails = true;
        if (which == 2) o.limits.memory_percent = 0;
        world w(1, o);
        w.run([](world& in) -> task<> {
            peer p = co_await in.connect();
            const std::string served = co_await response_to(&p, get("/hello"));
            EXPECT_TRUE(served.ends_with("hello"));
            EXPECT_EQ(in.counters().memory_refused, 0u);
        });
    }
}
