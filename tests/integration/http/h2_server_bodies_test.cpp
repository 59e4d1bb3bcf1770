// Bodies of requests over HTTP/2: windows, streams that stall, and what is not read.

#include "http/exchange/exchange_scope.hpp"
#include "integration/http/letters.hpp"
#include "integration/http/simulated_server.hpp"
#include "support/h2_peer.hpp"

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/task_group.hpp>

namespace {

using namespace simulated;
using http::h2::error_code;

}  // namespace

TEST(h2_server_bodies, waits_for_a_little_of_a_body_that_nobody_read_and_refuses_more) {
    for_seeds(10, [](world& w) -> task<> {
        h2_peer p(co_await w.connect());
        auto& small = p.request("POST", "/ignore", {}, false);
        co_await p.until_over(small);
        p.write(small, text(1000), true);
        auto& announced = p.request("POST", "/ignore", {{"content-length", "100000"}}, false);
        co_await p.until_over(announced);
        EXPECT_EQ(small.content, "ignored");
        EXPECT_EQ(announced.content, "ignored");
        const auto refused = [&announced] { return announced.reset.has_value(); };
        co_await p.until(refused);
        EXPECT_EQ(announced.reset, error_code::no_error);
        EXPECT_FALSE(small.reset);

        auto& endless = p.request("POST", "/ignore", {}, false);
        p.write(endless, text(500'000), false);
        const auto cut = [&endless] { return endless.reset.has_value(); };
        co_await p.until(cut);
        EXPECT_EQ(endless.content, "ignored");
        EXPECT_EQ(endless.reset, error_code::no_error);
        // Its bytes do not count against the connection.
        auto& echo = p.post("/echo", text(1'000'000));
        co_await p.until_over(echo);
        EXPECT_EQ(echo.content.size(), 1'000'000u);
    });
}

namespace {

/// Reads a piece of the body, and has it in its hands until after the response.
task<> hold_a_piece(http::request* req, event* read, int* held) {
    const auto got = co_await as_result(req->body().read());
    const std::string before(got.value_or(""));
    read->set();
    co_await req->exchange()->scope()->response_over.wait();
    EXPECT_EQ(*got, before);
    EXPECT_FALSE(before.empty());
    ++*held;
}

}  // namespace

TEST(h2_server_bodies, leaves_a_piece_of_the_body_to_who_reads_beside_the_response) {
    int held = 0;
    http::router r;
    r.post("/early", [&held](http::request& req) -> task<http::response> {
        event read;
        const auto hold = [&] { return hold_a_piece(&req, &read, &held); };
        req.exchange()->scope()->tasks->spawn(hold);
        co_await read.wait();
        co_return http::status::no_content;
    });
    r.get("/hello", [](http::request&) { return "hello"; });
    for_seeds(10, r, [&held](world& w) -> task<> {
        held = 0;
        h2_peer p(co_await w.connect());
        // More than the window of the connection: what was dropped does not count against it.
        constexpr int requests = 100;
        for (int i = 0; i != requests; ++i) {
            const std::size_t size = i == 0 ? 100 : 15'000;
            auto& m = p.request("POST", "/early", {}, false);
            p.write(m, text(size), false);
            co_await p.until_over(m);
            EXPECT_EQ(m.status, 204);
            const auto reset = [&m] { return m.reset.has_value(); };
            co_await p.until(reset);
            EXPECT_EQ(m.reset, error_code::no_error);
        }
        EXPECT_EQ(held, requests);
        auto& hello = p.get("/hello");
        co_await p.until_over(hello);
        EXPECT_EQ(hello.content, "hello");
    });
}

TEST(h2_server_bodies, keeps_an_upload_waiting_until_it_is_read) {
    http::router r;
    r.post("/", [](http::request& req) -> task<http::response> {
        co_await sleep_for(10s);
        std::size_t n = 0;
        for (;;) {
            const std::string_view piece = co_await req.body().read();
            if (piece.empty()) break;
            n += piece.size();
        }
        co_return http::response(std::to_string(n));
    });
    for_seeds(5, r, [](world& w) -> task<> {
        h2_peer p(co_await w.connect());
        auto& m = p.request("POST", "/", {}, false);
        p.write(m, text(400'000), true);
        co_await p.flush();
        co_await sleep_for(5s);
        // The most unread bytes of one stream.
        EXPECT_GE(m.unsent(), 400'000u - 65'536u);
        co_await p.until_over(m);
        EXPECT_EQ(m.content, "400000");
    });
}

TEST(h2_server_bodies, gives_the_window_of_a_body_back_that_nobody_reads) {
    http::router r;
    r.post("/now", [](http::request&) { return http::response("ignored"); });
    r.post("/later", [](http::request&) -> task<http::response> {
        co_await sleep_for(100ms);
        co_return http::response("ignored");
    });
    r.post("/part", [](http::request& req) -> task<http::response> {
        auto reading = req.body().read();
        co_await std::move(reading);
        co_return http::response("ignored");
    });
    for_seeds(3, r, [](world& w) -> task<> {
        h2_peer p(co_await w.connect());
        // Three times what the connection may hold unread.
        for (int i = 0; i != 60; ++i) {
            const std::string_view paths[] = {"/now", "/later", "/part"};
            auto& m = p.post(paths[i % 3], text(50'000));
            co_await p.until_over(m);
            EXPECT_EQ(m.content, "ignored");
            if (!m.ended) co_return;
        }
        EXPECT_EQ(w.counters().write_timeouts, 0u);
    });
}

TEST(h2_server_bodies, receives_bodies_beside_one_whose_window_has_grown_and_that_is_not_read) {
    std::size_t read_fast = 0;
    event go_on;
    http::router r;
    r.post("/stops", [&](http::request& req) -> task<http::response> {
        std::size_t read = 0;
        while (read < read_fast) {
            auto piece = co_await req.body().read();
            read += piece.size();
        }
        co_await go_on.wait();
        co_return http::response("stopped");
    });
    r.post("/count", [](http::request& req) -> task<http::response> {
        auto all = co_await req.body().text(10'000'000);
        co_return http::response(std::to_string(all.size()));
    });
    // Between half of the window and all of it is unread when it stops.
    std::size_t most_unread = 0;
    for (int i = 0; i != 8; ++i) {
        read_fast = 4'000'000U + static_cast<std::size_t>(i) * 70'000;
        go_on.reset();
        world w(1, r);
        w.run([&](world& in) -> task<> {
            h2_peer p(co_await in.connect());
            const std::size_t whole = read_fast + 2'000'000;
            auto& stopped = p.post("/stops", text(whole));
            co_await p.go_on_for(1s);
            most_unread = std::max(most_unread, whole - stopped.unsent() - read_fast);
            auto& other = p.post("/count", text(3'000'000));
            co_await p.until_over(other);
            EXPECT_EQ(other.content, "3000000") << read_fast;
            go_on.set();
            co_await p.until_over(stopped);
            EXPECT_EQ(stopped.content, "stopped");
        });
    }
    EXPECT_GT(most_unread, 900'000U);
}

TEST(h2_server_bodies, ends_a_stream_whose_body_or_reader_stalls_and_serves_the_others) {
    http::server_options o;
    o.timeouts.body_rate = 0;
    for (const std::uint64_t seed : seeds(3)) {
        world w(seed, o);
        w.run([](world& in) -> task<> {
            http::h2_limits narrow;
            narrow.stream_window = 1000;
            h2_peer p(co_await in.connect(), narrow);
            p.consumes = false;
            auto& upload = p.request("POST", "/echo", {}, false);
            auto& download = p.get("/big");
            const time_point begun = in.sim.now();
            const auto both = [&] { return upload.over() && download.over(); };
            co_await p.until(both);
            EXPECT_EQ(upload.status, 408);
            EXPECT_EQ(download.reset, error_code::cancel);
            EXPECT_LT(in.since(begun), 45s);
            EXPECT_EQ(in.counters().body_timeouts, 1u);
            EXPECT_EQ(in.counters().write_timeouts, 1u);
            auto& hello = p.get("/hello");
            co_await p.until_over(hello);
            EXPECT_EQ(hello.content, "hello");
        });
        if (::testing::Test::HasFailure()) return;
    }
}

// An event stream beside a download over a slow way: each event waits for what is before it.
TEST(h2_server_bodies, calls_no_stream_slow_that_waits_behind_others) {
    http::router routes;
    routes.get("/events", [](http::request&) {
        return http::stream([](http::body_writer& out) -> task<> {
            for (;;) {
                co_await out.write(repeated(100));
                co_await sleep_for(1s);
            }
        });
    });
    routes.get("/download", [](http::request&) {
        return http::stream([](http::body_writer& out) -> task<> {
            const std::string piece = repeated(64 * 1024);
            for (;;) co_await out.write(piece);
        });
    });
    for (const std::uint64_t seed : seeds(3)) {
        world w(seed, http::handler(routes));
        w.run([](world& in) -> task<> {
            http::h2_limits wide;
            wide.stream_window = wide.max_stream_window = 64 << 20;
            wide.connection_window = 256 << 20;
            h2_peer p(co_await in.connect(), wide);
            auto& events = p.get("/events");
            auto& download = p.get("/download");
            for (int i = 0; i != 30; ++i) {
                co_await p.go_on_for(20ms);
                download.content.clear();
                co_await sleep_for(13s);
            }
            EXPECT_FALSE(events.over());
            EXPECT_GT(events.content.size(), 1000u);
            EXPECT_EQ(in.counters().write_too_slow, 0u);
            p.connection().close();
        });
        if (::testing::Test::HasFailure()) return;
    }
}
