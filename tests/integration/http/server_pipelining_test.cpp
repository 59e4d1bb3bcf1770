// Pipelined requests, storms of resets, and no descriptors, in virtual time.

#include "integration/http/simulated_server.hpp"

#include <coracle/runtime/with_timeout.hpp>

using namespace simulated;

TEST(server_pipelining, responds_to_pipelined_requests_in_order) {
    for_seeds(30, [](world& w) -> task<> {
        peer p = co_await w.connect();
        std::string requests;
        for (int i = 0; i != 12; ++i) {
            requests += i % 3 == 1 ? get("/sleep?ms=" + std::to_string(100 * (12 - i)) +
                                         "&id=" + std::to_string(i))
                                   : post("/echo", "Content-Length: 2\r\n", std::to_string(10 + i));
        }
        co_await p.send(std::move(requests));
        for (int i = 0; i != 12; ++i) {
            const std::string response = co_await read_response(p);
            const std::string wanted =
                i % 3 == 1 ? "slept " + std::to_string(i) : std::to_string(10 + i);
            EXPECT_TRUE(response.ends_with("\r\n\r\n" + wanted)) << response;
        }
    });
}

TEST(server_pipelining, sends_finished_responses_before_it_waits_for_a_stream_or_a_handler) {
    for (const char* path : {"/late-stream", "/sleep"}) {
        for_seeds(few, [path](world& w) -> task<> {
            peer p = co_await w.connect();
            const time_point began = w.sim.now();
            co_await p.send(get("/hello") + get(path));
            EXPECT_TRUE((co_await read_response(p)).ends_with("hello"));
            EXPECT_LT(w.since(began), 1s);
            p.close(true);
            co_await sleep_for(1s);
        });
    }
}

namespace {

/// A request for it, behind fifteen whose responses do not fit into the socket.
std::string behind_big_responses(const char* path) {
    std::string all;
    for (int i = 0; i != 15; ++i) all += get("/big?n=16384");
    return all + get(path);
}

}  // namespace

TEST(server_pipelining, waits_for_no_handler_while_responses_before_it_do_not_fit_into_the_socket) {
    for (const char* path : {"/late-stream", "/sleep"}) {
        for_seeds(few, [path](world& w) -> task<> {
            peer p = co_await w.connect();
            const time_point began = w.sim.now();
            co_await p.send(behind_big_responses(path));
            co_await sleep_for(10s);
            for (int i = 0; i != 15; ++i) {
                EXPECT_TRUE((co_await read_response(p)).ends_with(repeated(16'384, 'b')));
            }
            EXPECT_LT(w.since(began), 20s);
            co_await sleep_for(1s);
            EXPECT_EQ(w.entered, 1);
            p.close(true);
            co_await sleep_for(1s);
        });
    }
}

TEST(server_pipelining, cuts_a_peer_that_does_not_read_what_stands_before_a_handler) {
    for (const char* path : {"/late-stream", "/sleep"}) {
        for_seeds(few, [path](world& w) -> task<> {
            peer p = co_await w.connect();
            const time_point began = w.sim.now();
            co_await p.send(behind_big_responses(path));
            while (w.counters().open != 0 && w.since(began) < 5min) co_await sleep_for(100ms);
            expect_about(w.since(began), 30s, 8s);
            EXPECT_EQ(w.counters().write_timeouts, 1u);
            EXPECT_EQ(w.entered, 0);
        });
    }
}

TEST(server_pipelining, yields_after_as_many_requests_as_the_limit_says) {
    const auto yields = [](int requests, const http::server_options& o) {
        simulation_options s;
        s.split = false;
        world w(1, o, s);
        w.run([requests](world& on) -> task<> {
            peer p = co_await on.connect();
            std::string all;
            for (int i = 0; i != requests; ++i) all += get("/hello");
            co_await p.send(std::move(all));
            for (int i = 0; i != requests; ++i) co_await read_response(p);
        });
        return w.counters().pipeline_yields;
    };
    http::server_options o;
    EXPECT_EQ(yields(16, o), 0u);
    EXPECT_EQ(yields(17, o), 1u);
    EXPECT_EQ(yields(32, o), 1u);
    EXPECT_EQ(yields(33, o), 2u);
    o.limits.h1.pipelined = 2;
    EXPECT_EQ(yields(2, o), 0u);
    EXPECT_EQ(yields(7, o), 3u);
}

TEST(server_pipelining, survives_running_out_of_descriptors) {
    for_seeds(few, [](world& w) -> task<> {
        std::vector<peer> some;
        for (int i = 0; i != 5; ++i) {
            some.push_back(co_await w.connect());
            co_await some.back().send(get("/sleep"));
        }
        co_await sleep_for(1s);
        const std::uint64_t turns = w.sim.loop().turns();
        for (std::uint64_t i = 1; i != 4; ++i) {
            // The client's is the last.
            w.sim.backend().limit_descriptors(w.sim.backend().open_descriptors() + 1);
            peer late = co_await w.connect();
            const auto ends = [&]() -> task<> { co_await late.read_to_end(); };
            const auto end = co_await as_result(with_timeout(5s, ends));
            EXPECT_TRUE(end) << "it is left hanging: " << end.error();
            EXPECT_EQ(w.counters().accept_errors, i);
            co_await sleep_for(1s);
        }
        EXPECT_LT(w.sim.loop().turns() - turns, 500u);  // it does not spin
        EXPECT_EQ(w.counters().made_room, 0u);
        for (peer& p : some) p.close(true);
        peer later = co_await w.connect();
        co_await later.send(get("/hello"));
        EXPECT_TRUE((co_await read_response(later)).ends_with("hello"));
    });
}

TEST(server_pipelining, survives_a_storm_of_resets) {
    for_seeds(few, [](world& w) -> task<> {
        peer good = co_await w.connect();
        for (int i = 0; i != 200; ++i) {
            peer p = co_await w.connect();
            // A handler that begins when the reset is known already runs to its end.
            const std::string request = get(i % 4 == 0 ? "/hello" : "/sleep?ms=500");
            if (i % 2 == 0) co_await p.send(request);
            if (i % 3 == 0) co_await sleep_for(1ms);
            p.close(true);
        }
        co_await sleep_for(1s);
        EXPECT_EQ(w.counters().open, 1u);
        co_await good.send(get("/hello"));
        EXPECT_TRUE((co_await read_response(good)).ends_with("hello"));
    });
}

TEST(server_pipelining, stops_accepting_at_its_limit_of_connections) {
    http::server_options o;
    o.limits.connections = 3;
    for_seeds(
        few,
        [](world& w) -> task<> {
            std::vector<peer> three;
            for (int i = 0; i != 3; ++i) {
                three.push_back(co_await w.connect());
                co_await three.back().send(get("/sleep"));
            }
            co_await sleep_for(100ms);
            peer fourth = co_await w.connect();
            co_await fourth.send(get("/hello"));
            co_await sleep_for(1s);
            EXPECT_EQ(w.counters().connections, 3u);
            EXPECT_EQ(w.counters().accept_paused, 1u);
            EXPECT_EQ(w.counters().made_room, 0u);
            const time_point began = w.sim.now();
            three.back().close(true);
            EXPECT_TRUE((co_await read_response(fourth)).ends_with("hello"));
            EXPECT_LT(w.since(began), 20ms);
        },
        o);
}
