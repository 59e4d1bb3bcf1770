// The effects of a slow, silent or vanished client on the server, in virtual time.

#include "integration/http/simulated_server.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/http/drain_signal.hpp>
#include <coracle/http/files.hpp>
#include <coracle/runtime/owned_fd.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <fcntl.h>

using namespace simulated;

namespace {

constexpr std::uint64_t few = 8;

void expect_about(duration measured, duration wanted, duration slack = 300ms) {
    EXPECT_GE(measured, wanted);
    EXPECT_LE(measured, wanted + slack);
}

std::size_t count_of(const std::string& text, std::string_view what) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++n;
    return n;
}

}  // namespace

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

// ---- clients that hang up, handlers that throw --------------------------------------------------

TEST(server_timeouts, cancels_the_handler_of_a_client_that_resets) {
    for_seeds(few, [](world& w) -> task<> {
        for (const bool finished_before : {false, true}) {
            peer p = co_await w.connect();
            co_await p.send(get("/sleep"));
            if (finished_before) p.shutdown_output();
            co_await sleep_for(1s);
            EXPECT_EQ(w.counters().in_flight, 1u);
            p.close(true);
            co_await sleep_for(100ms);
            EXPECT_EQ(w.entered, w.destroyed);
            EXPECT_EQ(w.counters().in_flight, 0u);
            EXPECT_EQ(w.counters().open, 0u);
        }
        EXPECT_EQ(w.destroyed, 2);
        EXPECT_EQ(w.counters().clients_gone, 2u);
        EXPECT_EQ(w.counters().half_closed_timeouts, 0u);
    });
}

namespace {

/// Closes with the request, or later: the end is all that the server sees of it.
void expect_limit_of_a_closed_client(duration limit, duration closes_after) {
    http::server_options o;
    o.timeouts.half_closed = limit;
    const auto close_and_wait = [=](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send(get("/sleep"));
        if (closes_after != duration::zero()) co_await sleep_for(closes_after);
        const time_point began = w.sim.now();
        p.close();
        co_await sleep_for(limit - 1ms);
        EXPECT_EQ(w.destroyed, 0);
        while (w.destroyed == 0 && w.since(began) < 1min) co_await sleep_for(10ms);
        expect_about(w.since(began), limit);
        co_await sleep_for(100ms);
        EXPECT_EQ(w.counters().half_closed_timeouts, 1u);
        EXPECT_EQ(w.counters().clients_gone, 1u);
        EXPECT_EQ(w.counters().open, 0u);
    };
    for_seeds(few, close_and_wait, o);
}

}  // namespace

TEST(server_timeouts, cancels_the_handler_of_a_client_that_has_closed_after_five_seconds) {
    expect_limit_of_a_closed_client(http::server_timeouts().half_closed, 0s);
    expect_limit_of_a_closed_client(http::server_timeouts().half_closed, 1s);
    expect_limit_of_a_closed_client(30s, 0s);
}

TEST(server_timeouts, responds_to_a_client_that_has_sent_its_end_if_the_handler_is_in_time) {
    for (const bool at_once : {false, true}) {
        for_seeds(few, [at_once](world& w) -> task<> {
            for (const char* const ms : {"1", "4950", "5300"}) {
                peer p = co_await w.connect();
                co_await p.send(get("/sleep?id=x&ms=" + std::string(ms)));
                if (!at_once) co_await sleep_for(500us);
                p.shutdown_output();
                const std::string got = co_await p.read_to_end();
                const bool in_time = std::string_view(ms) != "5300";
                EXPECT_EQ(got.ends_with("slept x"), in_time) << got;
                EXPECT_EQ(p.ended(), in_time ? ending::finished : ending::reset);
            }
            EXPECT_EQ(w.counters().half_closed_timeouts, 1u);
            EXPECT_EQ(w.counters().clients_gone, 1u);
        });
    }
}

TEST(server_timeouts, lets_a_stream_go_on_that_writes_to_a_client_that_has_sent_its_end) {
    const auto every_four_seconds = [](http::request&) {
        return http::stream([](http::body_writer& to) -> task<> {
            for (int i = 0; i != 5; ++i) {
                co_await to.write("piece,");
                co_await sleep_for(4s);
            }
            co_await to.write("last");
            co_await sleep_for(1h);
        });
    };
    for_seeds(few, http::handler(every_four_seconds), [](world& w) -> task<> {
        peer p = co_await w.connect();
        const time_point began = w.sim.now();
        co_await p.send(get("/"));
        p.shutdown_output();
        const std::string got = co_await p.read_to_end();
        EXPECT_EQ(count_of(got, "piece,"), 5u);
        EXPECT_EQ(count_of(got, "last"), 1u);
        EXPECT_EQ(p.ended(), ending::reset);
        expect_about(w.since(began), 25s);
        EXPECT_EQ(w.counters().half_closed_timeouts, 1u);
    });
}

TEST(server_timeouts, does_not_begin_the_handler_of_a_client_that_has_reset) {
    for_seeds(few, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send(get("/sleep?ms=2000") + get("/sleep"));
        co_await sleep_for(1s);
        EXPECT_EQ(w.entered, 1);
        p.close(true);
        co_await sleep_for(5s);
        EXPECT_EQ(w.entered, 1);
        EXPECT_EQ(w.counters().open, 0u);
    });
}

TEST(server_timeouts, outlives_handlers_that_throw) {
    for_seeds(few, [](world& w) -> task<> {
        peer p = co_await w.connect();
        for (const char* path : {"/throw", "/throw-later", "/throw", "/hello"}) {
            co_await p.send(get(path));
            const std::string response = co_await read_response(p);
            const bool good = std::string_view(path) == "/hello";
            EXPECT_TRUE(response.starts_with(good ? "HTTP/1.1 200 " : "HTTP/1.1 500 ")) << response;
            EXPECT_EQ(response.find("Connection: close"), std::string::npos) << response;
        }
        EXPECT_EQ(w.counters().handler_errors, 3u);
        EXPECT_EQ(w.counters().responses_5xx, 3u);
    });
}

TEST(server_timeouts, resets_a_streamed_response_whose_handler_throws) {
    for_seeds(few, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send(get("/broken-stream"));
        const std::string got = co_await p.read_to_end();
        EXPECT_EQ(p.ended(), ending::reset);
        EXPECT_EQ(got.find("\r\n0\r\n"), std::string::npos);
        EXPECT_EQ(w.counters().handler_errors, 1u);
    });
}

TEST(server_timeouts, logs_nothing_that_could_be_taken_for_another_line) {
    const auto fail = [](http::request&) -> http::response {
        throw std::runtime_error("no\nerror http: forged\x1b[2J");
    };
    for_seeds(few, http::handler(fail), [](world& w) -> task<> {
        const error_log log(w.sim.log());
        peer p = co_await w.connect();
        co_await p.send(get("/"));
        co_await read_response(p);
        EXPECT_TRUE(
            log.text().ends_with(" GET /: std::runtime_error: no\\x0aerror http: forged\\x1b[2J\n"))
            << log.text();
    });
}

TEST(server_timeouts, tells_a_stream_that_its_file_is_too_short) {
    const temporary_directory all;
    const owned_fd file(::open(all.write("short", "0123456789").c_str(), O_RDONLY | O_CLOEXEC));
    for (const auto size : {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(100)}) {
        std::error_code why;
        std::error_code then;
        const auto send = [&](http::request&) {
            const auto write = [&](http::body_writer& to) -> task<> {
                auto sending = to.write_file(file.get(), 0, 100);
                const auto sent = co_await as_result(sending);
                if (!sent) why = sent.error().code();
                auto writing = to.write("more");
                const auto written = co_await as_result(writing);
                if (!written) then = written.error().code();
            };
            http::response r;
            r.set_body(http::body::stream(write, size));
            return r;
        };
        for_seeds(few, http::handler(send), [&](world& w) -> task<> {
            const error_log log(w.sim.log());
            peer p = co_await w.connect();
            co_await p.send(get("/"));
            const std::string got = co_await p.read_to_end();
            EXPECT_EQ(p.ended(), ending::reset);
            EXPECT_EQ(got.find("more"), std::string::npos) << got;
            EXPECT_EQ(why, std::errc::no_message_available);
            EXPECT_EQ(then, std::errc::broken_pipe);
            EXPECT_NE(log.text().find("shorter than it had announced"), std::string::npos);
            EXPECT_EQ(w.counters().clients_gone, 0u);
        });
    }
}

TEST(server_timeouts, blames_nobody_for_a_client_that_leaves_a_download) {
    const temporary_directory all;
    const std::string root = all.path().string();
    const http::handler files = http::serve_files(root);
    for (const bool reset : {false, true}) {
        for_seeds(few, files, [reset, &root](world& w) -> task<> {
            const error_log log(w.sim.log());
            w.sim.disk().write(root + "/large", repeated(1'000'000));
            peer p = co_await w.connect();
            co_await p.send(get("/large", "Range: bytes=0-399999,600000-999999\r\n"));
            EXPECT_TRUE((co_await p.read_until("\r\n\r\n")).starts_with("HTTP/1.1 206 "));
            co_await p.read_exactly(1000);
            p.close(reset);
            co_await sleep_for(1s);
            EXPECT_EQ(log.text(), "");
            EXPECT_EQ(w.counters().clients_gone, 1u);
            EXPECT_EQ(w.counters().open, 0u);
        });
    }
}

namespace {

/// Goes on until a write fails, and then throws, or ends as if all were well.
http::handler endless(bool throws) {
    const auto send = [throws](http::request&) {
        return http::stream([throws](http::body_writer& to) -> task<> {
            const std::string piece = repeated(50'000, 'x');
            for (;;) {
                auto writing = to.write(piece);
                auto written = co_await as_result(writing);
                if (written) continue;
                if (throws) throw exception(std::move(written).error());
                co_return;
            }
        });
    };
    return http::handler(send);
}

}  // namespace

namespace {

/// Writes, and then waits for what does not come; cut, it throws, or ends as if all were well.
http::handler stalled(bool throws) {
    const auto send = [throws](http::request&) {
        return http::stream([throws](http::body_writer& to) -> task<> {
            co_await to.write(repeated(100'000, 'x'));
            auto waiting = sleep_for(1h);
            const auto waited = co_await as_result(waiting);
            if (throws && !waited) throw exception(waited.error());
        });
    };
    return http::handler(send);
}

}  // namespace

TEST(server_timeouts, ends_no_stream_in_order_that_its_client_has_left) {
    for (const bool throws : {false, true}) {
        for_seeds(few, stalled(throws), [](world& w) -> task<> {
            const error_log log(w.sim.log());
            peer p = co_await w.connect();
            co_await p.send(get("/"));
            co_await p.read_exactly(100'000);
            p.shutdown_output();
            const std::string rest = co_await p.read_to_end();
            EXPECT_FALSE(rest.ends_with("\r\n0\r\n\r\n"));
            EXPECT_EQ(p.ended(), ending::reset);
            EXPECT_EQ(log.text(), "");
            EXPECT_EQ(w.counters().clients_gone, 1u);
        });
    }
}

TEST(server_timeouts, blames_no_stream_for_a_client_that_never_reads) {
    for (const bool throws : {false, true}) {
        for_seeds(few, endless(throws), [](world& w) -> task<> {
            const error_log log(w.sim.log());
            peer p = co_await w.connect();
            const time_point began = w.sim.now();
            co_await p.send(get("/"));
            while (w.counters().open != 0 && w.since(began) < 5min) co_await sleep_for(100ms);
            expect_about(w.since(began), 30s, 8s);
            EXPECT_EQ(w.counters().write_timeouts, 1u);
            EXPECT_EQ(w.counters().handler_errors, 0u);
            EXPECT_EQ(log.text(), "");
        });
    }
}

// ---- drain --------------------------------------------------------------------------------------

/// How long a fresh connection, a used one, and one behind an empty line stay open in a drain.
static task<> expect_idle_to_end(world& w, duration least, duration most) {
    peer fresh = co_await w.connect();
    peer used = co_await w.connect();
    co_await used.send(get("/hello"));
    EXPECT_TRUE((co_await read_response(used)).ends_with("hello"));
    peer after_a_line = co_await w.connect();
    co_await after_a_line.send(get("/hello") + "\r\n");
    EXPECT_TRUE((co_await read_response(after_a_line)).ends_with("hello"));
    co_await sleep_for(1s);
    const time_point began = w.sim.now();
    w.server.stop();
    co_await fresh.expect_close();
    EXPECT_GE(w.since(began), least);
    co_await used.expect_close();
    co_await after_a_line.expect_close();
    EXPECT_LT(w.since(began), most);
    EXPECT_EQ(w.counters().cut_by_drain, 0u);
    EXPECT_EQ(w.counters().idle_timeouts, 0u);
    co_await sleep_for(100ms);  // more than `last_accept`
    EXPECT_FALSE(co_await as_result(w.connect()));
    const auto report = w.server.drained();
    EXPECT_EQ(report->open, 3u);
    EXPECT_EQ(report->served, 0u);
}

TEST(server_timeouts, closes_idle_connections_soon_when_it_drains) {
    for_seeds(few, [](world& w) { return expect_idle_to_end(w, 400ms, 700ms); });
}

TEST(server_timeouts, closes_idle_connections_at_once_where_they_have_no_time) {
    http::server_options o;
    o.timeouts.drain_idle = 0s;
    for_seeds(few, [](world& w) { return expect_idle_to_end(w, 0s, 100ms); }, o);
}

TEST(server_timeouts, serves_the_request_that_crosses_the_begin_of_a_drain) {
    for_seeds(few, [](world& w) -> task<> {
        peer fresh = co_await w.connect();
        peer used = co_await w.connect();
        co_await used.send(get("/hello"));
        EXPECT_TRUE((co_await read_response(used)).ends_with("hello"));
        EXPECT_FALSE(w.server.drained());
        w.server.stop();
        co_await sleep_for(300ms);
        for (peer* p : {&fresh, &used}) {
            co_await p->send(get("/hello"));
            const std::string response = co_await p->read_to_end();
            EXPECT_TRUE(response.ends_with("hello")) << response;
            EXPECT_NE(response.find("Connection: close\r\n"), std::string::npos);
        }
        EXPECT_EQ(w.server.drained()->served, 2u);
    });
}

TEST(server_timeouts, lets_handlers_see_that_it_drains) {
    http::router routes;
    routes.get("/waits", [](http::request& req) -> task<http::response> {
        EXPECT_FALSE(http::is_draining(req));
        http::drain_notice notice(http::drain_of(req));
        co_await notice.wait();
        co_return http::response(http::is_draining(req) ? "drains" : "serves");
    });
    for (const std::uint64_t seed : seeds(few)) {
        world w(seed, http::handler(routes));
        w.run([](world& in) -> task<> {
            peer p = co_await in.connect();
            co_await p.send(get("/waits"));
            co_await sleep_for(1s);
            const time_point began = in.sim.now();
            in.server.stop();
            EXPECT_TRUE((co_await p.read_to_end()).ends_with("drains"));
            EXPECT_LT(in.since(began), 100ms);
            EXPECT_EQ(in.server.drained()->told, 1u);
            EXPECT_EQ(in.server.drained()->in_flight, 1u);
        });
    }
}

TEST(server_timeouts, finishes_what_is_in_flight_when_it_drains) {
    for_seeds(few, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send(get("/sleep?ms=5000"));
        co_await sleep_for(1s);
        w.server.stop();
        const std::string response = co_await p.read_to_end();
        EXPECT_TRUE(response.starts_with("HTTP/1.1 200 ")) << response;
        EXPECT_NE(response.find("Connection: close\r\n"), std::string::npos);
        EXPECT_EQ(p.ended(), ending::finished);
        EXPECT_EQ(w.counters().cut_by_drain, 0u);
    });
}

TEST(server_timeouts, may_be_destroyed_right_after_it_was_told_to_drain) {
    simulation sim(1);
    const auto main = [&]() -> task<> {
        {
            const auto hello = [](http::request&) { return http::response("hello"); };
            http::server s(hello, world::with_address({}));
            s.open(sim.loop());
            const auto run = [&] { return s.run(sim.loop()); };
            co_await as_result(with_timeout(1s, run));
            s.stop();
        }
        co_await sleep_for(1s);
    };
    sim.run(main);
}

TEST(server_timeouts, responds_to_a_head_that_is_under_way_when_it_drains) {
    for_seeds(few, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send("GET /hello HT");
        co_await sleep_for(1s);
        w.server.stop();
        co_await sleep_for(300ms);
        co_await p.send("TP/1.1\r\nHost: x\r\n\r\n");
        const std::string response = co_await p.read_to_end();
        EXPECT_TRUE(response.ends_with("hello")) << response;
        EXPECT_NE(response.find("Connection: close\r\n"), std::string::npos);
    });
}

TEST(server_timeouts, waits_no_longer_for_the_rest_of_a_head_when_it_drains) {
    for_seeds(few, [](world& w) -> task<> {
        peer before = co_await w.connect();
        co_await before.send("GET");
        peer after = co_await w.connect();
        co_await sleep_for(1s);
        const time_point began = w.sim.now();
        w.server.stop();
        co_await sleep_for(200ms);
        co_await after.send("GET /");
        EXPECT_EQ(co_await before.read_to_end(), "");
        EXPECT_GE(w.since(began), 400ms);
        EXPECT_LT(w.since(began), 700ms);
        EXPECT_EQ(co_await after.read_to_end(), "");
        EXPECT_LT(w.since(began), 1s);
        EXPECT_EQ(w.counters().cut_by_drain, 2u);
        EXPECT_EQ(w.counters().head_timeouts, 0u);
    });
}

TEST(server_timeouts, closes_heads_at_once_where_they_have_no_time_in_a_drain) {
    http::server_options o;
    o.timeouts.drain_idle = 0s;
    for_seeds(
        few,
        [](world& w) -> task<> {
            peer p = co_await w.connect();
            co_await p.send("GET");
            co_await sleep_for(1s);
            const time_point began = w.sim.now();
            w.server.stop();
            EXPECT_EQ(co_await p.read_to_end(), "");
            EXPECT_LT(w.since(began), 100ms);
        },
        o);
}

TEST(server_timeouts, cuts_what_is_left_at_the_end_of_the_drain) {
    for_seeds(few, [](world& w) -> task<> {
        peer sleeping = co_await w.connect();
        co_await sleeping.send(get("/sleep"));
        peer reading_nothing = co_await w.connect();
        co_await reading_nothing.send(get("/big?n=1000000"));
        co_await sleep_for(1s);
        const time_point began = w.sim.now();
        w.server.stop();
        EXPECT_EQ(co_await sleeping.read_to_end(), "");
        EXPECT_EQ(sleeping.ended(), ending::reset);
        expect_about(w.since(began), 29s, 2s);
        EXPECT_EQ(w.destroyed, 1);
        co_await sleep_for(1s);
        EXPECT_EQ(w.counters().open, 0u);
        EXPECT_EQ(w.counters().cut_by_drain + w.counters().write_timeouts, 2u);
    });
}

// ---- rows 19, 23, 24: pipelining, descriptors, resets -------------------------------------------

TEST(server_timeouts, responds_to_pipelined_requests_in_order) {
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

TEST(server_timeouts, sends_finished_responses_before_it_waits_for_a_stream_or_a_handler) {
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

TEST(server_timeouts, waits_for_no_handler_while_responses_before_it_do_not_fit_into_the_socket) {
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

TEST(server_timeouts, cuts_a_peer_that_does_not_read_what_stands_before_a_handler) {
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

TEST(server_timeouts, yields_after_sixteen_pipelined_requests) {
    simulation_options s;
    s.split = false;
    for (const auto& [requests, yields] : {std::pair(16, 0u), {17, 1u}, {32, 1u}, {33, 2u}}) {
        world w(1, {}, s);
        const int n = requests;
        w.run([n](world& on) -> task<> {
            peer p = co_await on.connect();
            std::string all;
            for (int i = 0; i != n; ++i) all += get("/hello");
            co_await p.send(std::move(all));
            for (int i = 0; i != n; ++i) co_await read_response(p);
        });
        EXPECT_EQ(w.counters().pipeline_yields, yields) << requests;
    }
}

TEST(server_timeouts, survives_running_out_of_descriptors) {
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

TEST(server_timeouts, survives_a_storm_of_resets) {
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

TEST(server_timeouts, stops_accepting_at_its_limit_of_connections) {
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

// ---- room for new clients -----------------------------------------------------------------------

TEST(server_timeouts, closes_the_longest_idle_when_there_is_no_room_for_another) {
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

TEST(server_timeouts, finds_room_where_a_busy_connection_becomes_idle) {
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

TEST(server_timeouts, makes_room_where_there_are_no_descriptors) {
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

TEST(server_timeouts, takes_a_few_connections_of_one_client_and_closes_more) {
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

TEST(server_timeouts, counts_the_connections_of_the_client_that_a_proxy_speaks_for) {
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
