// Room for new clients where there is none, in virtual time.

#include "integration/http/simulated_server.hpp"
#include "support/allocation_count.hpp"

#include <coracle/net/socket.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/testing/local_server.hpp>

using namespace simulated;

TEST(server_room, closes_the_longest_idle_when_there_is_no_room_for_another) {
    http::server_options o;
    o.limits.connections = 3;
    const auto f = [](world& w) -> task<> {
        std::vector<peer> three;
        for (int i = 0; i != 3; ++i) {
            three.push_back(co_await w.connect());
            co_await sleep_for(1s);
        }
        // The first is the youngest from now on.
        co_await three[0].send(get("/hello"));
        EXPECT_TRUE((co_await read_response(three[0])).ends_with("hello"));
        const time_point began = w.sim.now();
        peer fourth = co_await w.connect();
        co_await fourth.send(get("/hello"));
        EXPECT_TRUE((co_await read_response(fourth)).ends_with("hello"));
        EXPECT_LT(w.since(began), 20ms);
        co_await three[1].expect_close();
        EXPECT_EQ(three[1].ended(), ending::finished);
        EXPECT_EQ(w.counters().made_room, 1u);
        EXPECT_EQ(w.counters().accept_paused, 0u);
        for (const std::size_t i : {0u, 2u}) {
            co_await three[i].send(get("/hello"));
            EXPECT_TRUE((co_await read_response(three[i])).ends_with("hello"));
        }
    };
    for_seeds(few, f, o);
}

TEST(server_room, finds_room_where_a_busy_connection_becomes_idle) {
    http::server_options o;
    o.limits.connections = 1;
    const auto f = [](world& w) -> task<> {
        peer busy = co_await w.connect();
        co_await busy.send(get("/sleep?ms=3000&id=x"));
        co_await sleep_for(100ms);
        const time_point began = w.sim.now();
        peer next = co_await w.connect();
        co_await next.send(get("/hello"));
        EXPECT_TRUE((co_await read_response(next)).ends_with("hello"));
        EXPECT_TRUE((co_await read_response(busy)).ends_with("slept x"));
        expect_about(w.since(began), 2900ms, 50ms);
        EXPECT_EQ(w.counters().made_room, 1u);
    };
    for_seeds(few, f, o);
}

TEST(server_room, makes_room_where_there_are_no_descriptors) {
    for_seeds(few, [](world& w) -> task<> {
        std::vector<peer> idle;
        for (int i = 0; i != 100; ++i) idle.push_back(co_await w.connect());
        co_await sleep_for(1s);
        w.sim.backend().limit_descriptors(w.sim.backend().open_descriptors() + 1);
        const time_point began = w.sim.now();
        peer late = co_await w.connect();
        co_await late.send(get("/hello"));
        EXPECT_TRUE((co_await read_response(late)).ends_with("hello"));
        EXPECT_LT(w.since(began), 100ms);
        EXPECT_GE(w.counters().made_room, 1u);
        EXPECT_LE(w.counters().made_room, 3u);
        w.sim.backend().limit_descriptors(SIZE_MAX);
    });
}

TEST(server_room, takes_a_few_connections_of_one_client_and_closes_more) {
    http::server_options o;
    o.limits.connections_per_client = 2;
    const auto f = [](world& w) -> task<> {
        peer first = co_await w.connect();
        peer second = co_await w.connect();
        peer third = co_await w.connect();
        co_await third.expect_close();
        EXPECT_EQ(w.counters().client_limit, 1u);
        EXPECT_EQ(w.counters().open, 2u);
        second.close();
        co_await sleep_for(100ms);
        peer fourth = co_await w.connect();
        for (peer* p : {&first, &fourth}) {
            co_await p->send(get("/hello"));
            EXPECT_TRUE((co_await read_response(*p)).ends_with("hello"));
        }
        EXPECT_EQ(w.counters().client_limit, 1u);
    };
    for_seeds(few, f, o);
}

TEST(server_room, keeps_no_place_of_a_client_for_which_there_was_no_memory) {
    if (!coracle::testing::counts_allocations()) {
        GTEST_SKIP() << "allocations are not counted in this build";
    }
    const std::string proxy = "PROXY TCP4 192.0.2.1 192.0.2.100 4711 80\r\n";
    const std::string of_client = proxy + get("/");
    const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    coracle::testing::local_server::options o;
    o.limits.connections_per_client = 1;
    o.proxy_protocol_from = "127.0.0.0/8";
    runtime_options one;
    one.loops = 1;
    for (const std::string& request : {get("/"), preface}) {
        runtime(one).run([&](loop& here) -> task<> {
            const coracle::testing::local_server server(
                here, [](http::request&) { return "hello"; }, o);
            const auto to = net::address::v4({127, 0, 0, 1}, server.port());
            // The proxy speaks for itself, too.
            const std::string of_proxy = "PROXY UNKNOWN\r\n" + get("/");
            const auto kept = co_await net::connect(to);
            co_await kept->send(of_proxy);
            static_cast<void>(co_await kept->receive());
            const auto until_all_have_left = [&]() -> task<> {
                const auto any = [&] {
                    return server.counters().open + server.counters().handshaking != 1;
                };
                while (any()) co_await yield();
            };
            const auto is_served = [&](const std::string& text) -> task<bool> {
                const auto client = co_await net::connect(to);
                co_await client->send(text);
                const auto response = co_await as_result(client->receive());
                client->close();
                co_await until_all_have_left();
                co_return response && response->view().starts_with("HTTP/1.1 200 ");
            };
            bool was_enough = false;
            std::size_t n = 0;
            while (!was_enough && n != 200) {
                ++n;
                const auto client = co_await net::connect(to);
                co_await client->send(proxy + request);
                coracle::testing::fail_allocation(n);
                for (int turn = 0; turn != 100; ++turn) co_await yield();
                was_enough = coracle::testing::allocation_will_fail();
                coracle::testing::fail_allocation(0);
                client->close();
                co_await until_all_have_left();
                EXPECT_TRUE(co_await is_served(of_client)) << n;
                EXPECT_FALSE(co_await is_served(of_proxy)) << n << ": it has one already";
            }
            EXPECT_TRUE(was_enough);
            EXPECT_GT(n, 2U) << "the connection was not there yet";
        });
    }
}

TEST(server_room, counts_the_connections_of_the_client_that_a_proxy_speaks_for) {
    http::server_options o;
    o.limits.connections_per_client = 1;
    o.proxy_protocol_from = "0.0.0.0/0";
    const auto f = [](world& w) -> task<> {
        const auto for_client = [](int n) {
            return "PROXY TCP4 192.0.2." + std::to_string(n) + " 192.0.2.100 4711 80\r\n" +
                   get("/hello");
        };
        std::vector<peer> of_several;
        for (int i = 1; i != 4; ++i) {
            of_several.push_back(co_await w.connect());
            co_await of_several.back().send(for_client(i));
            EXPECT_TRUE((co_await read_response(of_several.back())).ends_with("hello"));
        }
        peer again = co_await w.connect();
        co_await as_result(again.send(for_client(2)));
        EXPECT_EQ(co_await again.read_to_end(), "");
        EXPECT_EQ(w.counters().client_limit, 1u);
        of_several[1].close();
        co_await sleep_for(100ms);
        peer later = co_await w.connect();
        co_await later.send(for_client(2));
        EXPECT_TRUE((co_await read_response(later)).ends_with("hello"));
    };
    for_seeds(few, f, o);
}
