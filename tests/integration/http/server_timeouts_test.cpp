// The effects of a slow, silent or vanished client on the server, in virtual time.

#include "integration/http/simulated_server.hpp"

using namespace simulated;

// ---- row 1: slow heads --------------------------------------------------------------------------

TEST(server_timeouts, refuses_a_head_that_stops_halfway) {
    for_seeds(few, [](world& w) -> task<> {
        peer p = co_await w.connect();
        const time_point began = w.sim.now();
        co_await p.send("GET / HTTP/1.1\r\nHo");
        const std::string response = co_await p.read_to_end();
        EXPECT_TRUE(response.starts_with("HTTP/1.1 408 Request Timeout\r\n")) << response;
        EXPECT_NE(response.find("Connection: close\r\n"), std::string::npos);
        EXPECT_EQ(p.ended(), ending::finished);
        expect_about(w.since(began), 10s);
        EXPECT_EQ(w.counters().head_timeouts, 1u);
    });
}

TEST(server_timeouts, count_a_PROXY_header_that_does_not_come) {
    http::server_options o;
    o.proxy_protocol_from = "0.0.0.0/0";
    const auto f = [](world& w) -> task<> {
        const time_point began = w.sim.now();
        peer p = co_await w.connect();
        co_await p.expect_close();
        expect_about(w.since(began), 10s, 1s);
        EXPECT_EQ(w.counters().proxy_failures, 1u);
        EXPECT_EQ(w.counters().tls_timeouts, 0u);
    };
    for_seeds(few, f, o);
}

TEST(server_timeouts, take_what_may_become_the_preface_of_http_2_for_a_head) {
    for_seeds(few, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await sleep_for(20s);
        const time_point began = w.sim.now();
        co_await p.send("P");
        co_await sleep_for(5s);
        co_await p.send("R");
        const std::string response = co_await p.read_to_end();
        EXPECT_TRUE(response.starts_with("HTTP/1.1 408 ")) << response;
        expect_about(w.since(began), 10s);
        EXPECT_EQ(w.counters().head_timeouts, 1u);
    });
}

TEST(server_timeouts, gives_a_dripped_head_ten_seconds_from_its_first_byte) {
    for_seeds(few, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await sleep_for(50s);  // waiting before the first byte is another matter
        const time_point began = w.sim.now();
        bool over = false;
        spawn([&]() -> task<> {
            co_await p.read_until("408");
            over = true;
            co_await p.read_to_end();
        });
        std::string head = get("/hello", "X: " + repeated(100) + "\r\n");
        for (const char c : head) {
            if (over) break;
            co_await as_result(p.send(std::string(1, c)));
            co_await sleep_for(100ms);
        }
        EXPECT_TRUE(over);
        expect_about(w.since(began), 10s, 500ms);
        EXPECT_EQ(w.counters().head_timeouts, 1u);
        co_await sleep_for(2s);
    });
}

TEST(server_timeouts, responds_to_a_head_that_is_dripped_in_time) {
    for_seeds(few, [](world& w) -> task<> {
        peer p = co_await w.connect();
        for (int i = 0; i != 3; ++i) {
            for (const char c : get("/hello")) {
                co_await p.send(std::string(1, c));
                co_await sleep_for(250ms);
            }
            EXPECT_TRUE((co_await read_response(p)).ends_with("hello"));
        }
        EXPECT_EQ(w.counters().head_timeouts, 0u);
    });
}

TEST(server_timeouts, gives_the_second_of_two_heads_in_one_read_its_own_time) {
    for_seeds(few, [](world& w) -> task<> {
        peer p = co_await w.connect();
        const time_point began = w.sim.now();
        co_await p.send(get("/hello") + "GET /he");
        EXPECT_TRUE((co_await read_response(p)).ends_with("hello"));
        const std::string response = co_await p.read_to_end();
        EXPECT_TRUE(response.starts_with("HTTP/1.1 408 ")) << response;
        expect_about(w.since(began), 10s);
    });
}

// ---- idle, lifetime, requests -------------------------------------------------------------------

TEST(server_timeouts, closes_a_silent_connection) {
    for_seeds(few, [](world& w) -> task<> {
        peer p = co_await w.connect();
        const time_point began = w.sim.now();
        co_await p.expect_close();
        expect_about(w.since(began), 60s);
        EXPECT_EQ(w.counters().idle_timeouts, 1u);
    });
}

TEST(server_timeouts, closes_a_connection_that_is_idle_between_requests) {
    for_seeds(few, [](world& w) -> task<> {
        peer p = co_await w.connect();
        for (int i = 0; i != 3; ++i) {
            co_await sleep_for(59s);
            co_await p.send(get("/hello"));
            EXPECT_TRUE((co_await read_response(p)).ends_with("hello"));
        }
        const time_point began = w.sim.now();
        co_await p.expect_close();
        expect_about(w.since(began), 60s, 1s);
        EXPECT_EQ(w.counters().idle_timeouts, 1u);
    });
}

TEST(server_timeouts, closes_an_old_connection_between_requests) {
    http::server_options o;
    o.timeouts.lifetime = 10min;
    for_seeds(
        few,
        [](world& w) -> task<> {
            peer p = co_await w.connect();
            const time_point began = w.sim.now();
            for (;;) {
                co_await p.send(get("/hello"));
                const std::string response = co_await read_response(p);
                EXPECT_TRUE(response.starts_with("HTTP/1.1 200 OK\r\n")) << response;
                if (response.find("Connection: close") != std::string::npos) break;
                co_await sleep_for(5s);
            }
            co_await p.expect_close();
            expect_about(w.since(began), 10min, 66s);
        },
        o);
}

TEST(server_timeouts, of_less_than_nothing_are_nothing) {
    http::server_options o;
    o.timeouts.lifetime = -15ns;
    for_seeds(
        few,
        [](world& w) -> task<> {
            peer p = co_await w.connect();
            co_await p.send(get("/hello"));
            const std::string response = co_await read_response(p);
            EXPECT_TRUE(response.starts_with("HTTP/1.1 200 OK\r\n")) << response;
            EXPECT_NE(response.find("Connection: close"), std::string::npos) << response;
            co_await p.expect_close();
        },
        o);
}

TEST(server_timeouts, may_have_no_end) {
    http::server_options o;
    http::server_timeouts& t = o.timeouts;
    for (duration* const each : {&t.head, &t.body, &t.write, &t.idle, &t.lifetime, &t.linger,
                                 &t.linger_silence, &t.body_grace, &t.half_closed}) {
        *each = duration::max();
    }
    for_seeds(
        few,
        [](world& w) -> task<> {
            peer p = co_await w.connect();
            for (int i = 0; i != 2; ++i) {
                co_await p.send(get("/hello"));
                const std::string response = co_await read_response(p);
                EXPECT_EQ(response.find("Connection: close"), std::string::npos) << response;
                co_await sleep_for(24h);
            }
            // The rest of a body is dropped, and the connection goes on.
            co_await p.send(post("/ignore", "Content-Length: 5\r\n"));
            static_cast<void>(co_await read_response(p));
            co_await sleep_for(1h);
            co_await p.send("12345" + get("/hello"));
            const std::string response = co_await read_response(p);
            EXPECT_TRUE(response.starts_with("HTTP/1.1 200 OK\r\n")) << response;
            EXPECT_EQ(w.counters().idle_shortened, 0U);
        },
        o);
}

TEST(server_timeouts, closes_a_connection_after_its_last_request) {
    http::server_options o;
    o.limits.requests = 5;
    for_seeds(
        few,
        [](world& w) -> task<> {
            peer p = co_await w.connect();
            for (int i = 0; i != 7; ++i) co_await p.send(get("/hello"));
            const std::string all = co_await p.read_to_end();
            EXPECT_EQ(count_of(all, "200 OK"), 5u);
            EXPECT_EQ(count_of(all, "Connection: close"), 1u);
            EXPECT_EQ(w.counters().requests, 5u);
        },
        o);
}

TEST(server_timeouts, takes_an_empty_line_behind_a_body_for_no_head) {
    for_seeds(few, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send(post("/echo", "Content-Length: 2\r\n", "ab\r\n"));
        EXPECT_TRUE((co_await read_response(p)).ends_with("ab"));
        const time_point began = w.sim.now();
        co_await p.expect_close();
        expect_about(w.since(began), 60s, 1s);
        EXPECT_EQ(w.counters().idle_timeouts, 1u);
        EXPECT_EQ(w.counters().head_timeouts, 0u);
    });
}

TEST(server_timeouts, gives_a_head_its_time_from_the_first_byte_behind_empty_lines) {
    for_seeds(few, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send("\r\n\r");
        co_await sleep_for(30s);
        const time_point began = w.sim.now();
        co_await p.send("\nG");
        const std::string response = co_await p.read_to_end();
        EXPECT_TRUE(response.starts_with("HTTP/1.1 408 ")) << response;
        expect_about(w.since(began), 10s);
    });
}

TEST(server_timeouts, takes_two_empty_lines_and_no_third_however_slowly_they_come) {
    for_seeds(few, [](world& w) -> task<> {
        peer good = co_await w.connect();
        peer bad = co_await w.connect();
        for (const char* half : {"\r", "\n", "\r", "\n"}) {
            co_await good.send(half);
            co_await bad.send(half);
            co_await sleep_for(10s);
        }
        co_await good.send(get("/hello"));
        EXPECT_TRUE((co_await read_response(good)).ends_with("hello"));
        co_await bad.send("\r\n");
        const std::string response = co_await bad.read_to_end();
        EXPECT_TRUE(response.starts_with("HTTP/1.1 400 ")) << response;
    });
}

// ---- row 2: slow bodies -------------------------------------------------------------------------

TEST(server_timeouts, refuses_a_body_that_stalls) {
    for_seeds(few, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send(post("/echo", "Content-Length: 100\r\n", "some"));
        const time_point began = w.sim.now();
        const std::string response = co_await p.read_to_end();
        EXPECT_TRUE(response.starts_with("HTTP/1.1 408 ")) << response;
        expect_about(w.since(began), 30s);
        EXPECT_EQ(w.counters().body_timeouts, 1u);
    });
}

TEST(server_timeouts, refuses_a_body_that_comes_too_slowly) {
    for (const char* path : {"/echo", "/count"}) {
        for_seeds(few, [path](world& w) -> task<> {
            peer p = co_await w.connect();
            const time_point began = w.sim.now();
            co_await p.send(post(path, "Content-Length: 100000\r\n"));
            bool over = false;
            spawn([&]() -> task<> {
                const std::string response = co_await p.read_to_end();
                EXPECT_TRUE(response.starts_with("HTTP/1.1 408 ")) << response;
                over = true;
            });
            while (!over && w.since(began) < 20s) {
                co_await as_result(p.send(repeated(100)));
                co_await sleep_for(500ms);  // 200 bytes/s
            }
            EXPECT_TRUE(over);
            expect_about(w.since(began), 10s, 2s);
            EXPECT_EQ(w.counters().body_too_slow, 1u);
            co_await sleep_for(2s);
        });
    }
}

TEST(server_timeouts, takes_a_body_that_comes_just_fast_enough) {
    for_seeds(few, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send(post("/count", "Content-Length: 10000\r\n"));
        for (int i = 0; i != 80; ++i) {
            co_await p.send(repeated(125));
            co_await sleep_for(500ms);  // 250 bytes/s
        }
        EXPECT_TRUE((co_await read_response(p)).ends_with("\r\n10000"));
        EXPECT_EQ(w.counters().body_too_slow, 0u);
    });
}

// ---- row 3: slow readers ------------------------------------------------------------------------

TEST(server_timeouts, cuts_a_peer_that_never_reads) {
    for (const char* path : {"/big?n=1000000", "/big?n=10000"}) {
        for_seeds(few, [path](world& w) -> task<> {
            peer p = co_await w.connect();
            const time_point began = w.sim.now();
            for (int i = 0; i != 20; ++i) co_await p.send(get(path));
            while (w.counters().open != 0 && w.since(began) < 5min) co_await sleep_for(100ms);
            expect_about(w.since(began), 30s, 8s);
            EXPECT_EQ(w.counters().write_timeouts, 1u);
            co_await p.read_to_end();
            EXPECT_EQ(p.ended(), ending::reset);
        });
    }
}

namespace {

/// Reads so many bytes a second of a long response until it is cut, or for ten minutes.
task<duration> read_slowly(world& w, std::int64_t rate, const char* path) {
    peer p = co_await w.connect();
    const time_point began = w.sim.now();
    co_await p.send(get(path));
    while (w.since(began) < 10min && (w.counters().open != 0 || w.since(began) < 1s)) {
        const auto got = co_await as_result(p.stream().receive(64));
        if (!got) break;
        co_await sleep_for(duration(1s) * static_cast<std::int64_t>(got->size()) / rate);
    }
    p.close(true);
    co_await sleep_for(1s);
    co_return w.since(began) - 1s;
}

http::handler many_small_pieces() {
    http::router r;
    r.get("/stream", [](http::request&) {
        return http::stream([](http::body_writer& to) -> task<> {
            for (;;) co_await to.write(repeated(100));
        });
    });
    r.get("/bytes", [](http::request&) { return http::response(repeated(1'000'000)); });
    return r;
}

void expect_pace(std::int64_t rate, bool is_cut, const http::server_options& o = {}) {
    for (const char* path : {"/bytes", "/stream"}) {
        for (const std::uint64_t seed : seeds(2)) {
            simulation_options s;
            s.send_buffer = 4096;  // else the pieces in which room is told of are too coarse
            world w(seed, many_small_pieces(), o, s);
            w.run([&](world& here) -> task<> {
                const duration took = co_await read_slowly(here, rate, path);
                EXPECT_EQ(here.counters().write_too_slow, is_cut ? 1u : 0u) << path;
                EXPECT_EQ(here.counters().write_timeouts, 0u);
                EXPECT_EQ(took < 10min, is_cut) << path;
                EXPECT_GE(took, 60s);
                EXPECT_LE(took, is_cut ? duration(3min) : duration(11min));
            });
        }
    }
}

}  // namespace

TEST(server_timeouts, cuts_a_peer_that_reads_fewer_than_240_bytes_a_second) {
    expect_pace(40, true);
    expect_pace(230, true);
}

TEST(server_timeouts, is_patient_with_a_peer_that_reads_more_than_240_bytes_a_second) {
    expect_pace(250, false);
}

TEST(server_timeouts, lets_a_peer_read_as_slowly_as_it_was_told_to) {
    http::server_options o;
    o.timeouts.write_rate = 0;
    expect_pace(120, false, o);
    o.timeouts.write_rate = 100;
    expect_pace(110, false, o);
    expect_pace(90, true, o);
}

TEST(server_timeouts, is_patient_with_a_peer_that_reads_a_little_now_and_then) {
    for_seeds(few, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send(get("/big?n=400000"));
        std::size_t got = 0;
        while (got < 400'000) {
            co_await sleep_for(20s);
            got += (co_await p.read_exactly(20'000)).size();
        }
        EXPECT_EQ(w.counters().write_timeouts, 0u);
    });
}

// ---- lingering ----------------------------------------------------------------------------------

TEST(server_timeouts, lets_a_slow_upload_read_the_response_that_came_early) {
    for_seeds(few, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send(post("/ignore", "Content-Length: 1000000\r\n"));
        for (int i = 0; i != 12; ++i) {
            co_await sleep_for(2s);
            co_await p.send(repeated(1000));
        }
        const std::string got = co_await p.read_to_end();
        EXPECT_TRUE(got.ends_with("ignored")) << got;
        EXPECT_EQ(p.ended(), ending::finished);
        EXPECT_EQ(w.counters().open, 1u);
    });
}

TEST(server_timeouts, lingers_for_thirty_seconds_and_for_five_of_silence) {
    for (const duration pause : {1s, 4s, 6s}) {
        for_seeds(few, [pause](world& w) -> task<> {
            peer p = co_await w.connect();
            const time_point began = w.sim.now();
            co_await p.send(post("/ignore", "Content-Length: 1000000\r\n"));
            time_point next = began;
            while (w.counters().open == 1 || w.since(began) < 100ms) {
                if (w.sim.now() >= next) {
                    co_await as_result(p.send("more"));
                    next += pause;
                }
                co_await sleep_for(50ms);
            }
            expect_about(w.since(began), pause > 5s ? 5s : 30s, 300ms);
        });
    }
}
