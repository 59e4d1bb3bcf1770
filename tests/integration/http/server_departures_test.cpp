// Clients that hang up, half or whole, and handlers that throw, in virtual time.

#include "integration/http/simulated_server.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/http/files.hpp>
#include <coracle/runtime/owned_fd.hpp>

#include <fcntl.h>

using namespace simulated;

TEST(server_departures, cancels_the_handler_of_a_client_that_resets) {
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

TEST(server_departures, cancels_the_handler_of_a_client_that_has_closed_after_five_seconds) {
    expect_limit_of_a_closed_client(http::server_timeouts().half_closed, 0s);
    expect_limit_of_a_closed_client(http::server_timeouts().half_closed, 1s);
    expect_limit_of_a_closed_client(30s, 0s);
}

TEST(server_departures, responds_to_a_client_that_has_sent_its_end_if_the_handler_is_in_time) {
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

TEST(server_departures, lets_a_stream_go_on_that_writes_to_a_client_that_has_sent_its_end) {
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

TEST(server_departures, does_not_begin_the_handler_of_a_client_that_has_reset) {
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

TEST(server_departures, outlives_handlers_that_throw) {
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

TEST(server_departures, resets_a_streamed_response_whose_handler_throws) {
    for_seeds(few, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send(get("/broken-stream"));
        const std::string got = co_await p.read_to_end();
        EXPECT_EQ(p.ended(), ending::reset);
        EXPECT_EQ(got.find("\r\n0\r\n"), std::string::npos);
        EXPECT_EQ(w.counters().handler_errors, 1u);
    });
}

TEST(server_departures, logs_nothing_that_could_be_taken_for_another_line) {
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

TEST(server_departures, tells_a_stream_that_its_file_is_too_short) {
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

TEST(server_departures, blames_nobody_for_a_client_that_leaves_a_download) {
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

TEST(server_departures, ends_no_stream_in_order_that_its_client_has_left) {
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

TEST(server_departures, blames_no_stream_for_a_client_that_never_reads) {
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
