// Protocols that take over a stream of HTTP/2 (RFC 8441), by the same `http::upgrade` as over
// HTTP/1.1.

#include "integration/http/letters.hpp"
#include "integration/http/simulated_server.hpp"
#include "support/h2_peer.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/when_any.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

namespace {

using namespace simulated;
using http::h2::error_code;

/// A server whose every response is this upgrade to "echo".
http::handler upgrades_by(std::function<task<>(http::upgraded_connection&)> run) {
    return [run](http::request&) {
        return http::upgrade("echo", [run](http::upgraded_connection& c) { return run(c); });
    };
}

task<> expect_content(h2_peer& p, const h2_message& m, std::string wanted) {
    const auto there = [&] { return m.content.size() >= wanted.size() || m.reset; };
    co_await p.until(there);
    EXPECT_EQ(m.content, wanted);
}

task<> expect_reset(h2_peer& p, const h2_message& m, error_code code) {
    const auto reset = [&] { return m.reset.has_value(); };
    co_await p.until(reset);
    EXPECT_EQ(m.reset, code);
}

/// Reads so many bytes, however they were cut.
task<std::string> read_some(net::byte_stream& s, std::size_t n) {
    std::string all;
    while (all.size() < n) all += (co_await s.receive()).view();
    co_return all;
}

/// Goes on until `done()`, which is to happen without the client's doing.
template <class F>
task<> wait_for(h2_peer& p, F done) {
    while (!done() && !p.closed()) co_await p.go_on_for(100ms);
    EXPECT_TRUE(done()) << p.goaways().size() << " GOAWAYs"
                        << (p.goaways().empty() ? "" : describe(p.goaways().back().second));
}

}  // namespace

// The DATA of two streams comes at once, and the first one to be read decides.
TEST(h2_tunnels, lose_no_bytes_to_a_wait_that_is_cancelled_as_they_come) {
    for (const bool swapped : {false, true}) {
        net::byte_stream* other = nullptr;
        event over;
        std::string got;
        const auto first = [&](http::upgraded_connection& c) -> task<> {
            other = &c.stream;
            co_await over.wait();
        };
        const auto second = [&](http::upgraded_connection& c) -> task<> {
            const auto came = co_await when_any(c.stream.receive(), other->receive());
            if (came.index == 1) got += came.value.view();
            while (!got.ends_with('!')) got += (co_await other->receive()).view();
            over.set();
        };
        http::router routes;
        routes.get("/first", upgrades_by(first));
        routes.get("/second", upgrades_by(second));
        world w(1, http::handler(routes));
        w.run([&](world& in) -> task<> {
            h2_peer p(co_await in.connect());
            auto& a = p.connect("echo", "/first", {});
            const auto accepted = [&] { return a.status == 200; };
            co_await p.until(accepted);
            auto& b = p.connect("echo", "/second", {});
            const auto both = [&] { return b.status == 200; };
            co_await p.until(both);
            if (swapped) p.write(a, "some", false);
            p.write(b, "x", true);
            if (!swapped) p.write(a, "some", false);
            co_await p.go_on_for(1s);
            p.write(a, "more!", true);
            co_await p.until_over(a);
        });
        EXPECT_EQ(got, "somemore!");
    }
}

TEST(h2_tunnels, carry_the_bytes_of_a_protocol_both_ways) {
    for_seeds(20, [](world& w) -> task<> {
        h2_peer p(co_await w.connect());
        auto& before = p.get("/hello");
        co_await p.until_over(before);
        EXPECT_TRUE(p.session().peer().extended_connect);
        auto& m = p.connect("echo", "/upgrade?x=1", {{"x-more", "1"}});
        const auto accepted = [&m] { return m.status != 0; };
        co_await p.until(accepted);
        EXPECT_EQ(m.status, 200);
        EXPECT_EQ(m.field("content-length"), "");
        EXPECT_EQ(m.field("upgrade"), "");
        p.write(m, "hello", false);
        co_await expect_content(p, m, "hello");
        // Others share the connection.
        auto& beside = p.get("/hello");
        co_await p.until_over(beside);
        EXPECT_EQ(beside.content, "hello");
        const std::string much = text(700'000);
        p.write(m, much, false);
        co_await expect_content(p, m, "hello" + much);
        co_await sleep_for(10min);
        p.write(m, "bye", true);
        co_await p.until_over(m);
        EXPECT_EQ(m.content, "hello" + much + "bye");
        EXPECT_FALSE(m.reset);
        EXPECT_EQ(w.counters().responses_2xx, 3u);
    });
}

TEST(h2_tunnels, look_to_a_handler_as_an_upgrade_does) {
    std::string seen;
    http::router r;
    r.get("/chat/{room}", [&seen](http::request& req) {
        seen = std::string(req.method_text()) + ' ' + std::string(req.target()) + ' ' +
               std::string(req.param("room")) + ' ' + std::string(req.header("Upgrade")) + ' ' +
               std::string(req.header("Connection")) + ' ' + std::string(req.host());
        return http::upgrade("echo",
                             [](http::upgraded_connection& c) -> task<> {
                                 co_await c.stream.send("welcome");
                             })
            .set("X-Extra", "1");
    });
    for_seeds(3, r, [&seen](world& w) -> task<> {
        h2_peer p(co_await w.connect());
        auto& m = p.connect("echo", "/chat/7?a=b");
        co_await p.until_over(m);
        EXPECT_EQ(m.status, 200);
        EXPECT_EQ(m.content, "welcome");
        EXPECT_EQ(m.field("x-extra"), "1");
        EXPECT_EQ(seen, "GET /chat/7?a=b 7 echo upgrade x");
        peer old = co_await w.connect();
        co_await old.send(get("/chat/7?a=b", "Connection: upgrade\r\nUpgrade: echo\r\n"));
        EXPECT_TRUE((co_await old.read_until("\r\n\r\n")).starts_with("HTTP/1.1 101 "));
        EXPECT_EQ(co_await old.read_exactly(7), "welcome");
        EXPECT_EQ(seen, "GET /chat/7?a=b 7 echo upgrade x");
    });
}

TEST(h2_tunnels, are_refused_by_handlers_that_do_not_upgrade) {
    for_seeds(3, [](world& w) -> task<> {
        h2_peer p(co_await w.connect());
        auto& plain = p.connect("echo", "/hello");
        auto& streamed = p.connect("echo", "/stream");
        auto& later = p.connect("echo", "/sleep?ms=5");
        auto& other = p.connect("websocket", "/upgrade");
        auto& unknown = p.connect("echo", "/nowhere");
        auto& malformed = p.connect("echo", "/%zz");
        for (const auto* m : {&plain, &streamed, &later, &other, &unknown, &malformed}) {
            co_await p.until_over(*m);
        }
        // A 2xx would be a tunnel to the client.
        EXPECT_EQ(plain.status, 501);
        EXPECT_EQ(streamed.status, 501);
        EXPECT_EQ(later.status, 501);
        EXPECT_EQ(other.status, 501);
        EXPECT_EQ(unknown.status, 404);
        EXPECT_EQ(malformed.status, 400);
    });
}

TEST(h2_tunnels, end_their_input_where_the_client_has_ended_it_and_still_send) {
    const auto run = [](http::upgraded_connection& c) -> task<> {
        std::string all;
        for (;;) {
            auto bytes = co_await as_result(c.stream.receive(100));
            if (!bytes) {
                all += bytes.error() == errc::end_of_stream ? " end" : " failed";
                break;
            }
            EXPECT_LE(bytes->size(), 128u);
            all += bytes->view();
        }
        co_await c.stream.send(all);
    };
    for_seeds(10, upgrades_by(run), [](world& w) -> task<> {
        h2_peer p(co_await w.connect());
        auto& m = p.connect("echo", "/");
        p.write(m, text(1000), true);
        auto& nothing = p.connect("echo", "/", {}, true);
        co_await p.until_over(m);
        co_await p.until_over(nothing);
        EXPECT_EQ(m.content, text(1000) + " end");
        EXPECT_EQ(nothing.content, " end");
        EXPECT_FALSE(m.reset);
    });
}

TEST(h2_tunnels, may_end_their_output_and_go_on_reading) {
    std::string read;
    const auto run = [&read](http::upgraded_connection& c) -> task<> {
        co_await c.stream.send("all");
        c.stream.shutdown_output();
        EXPECT_EQ(c.stream.try_send("x"), -EPIPE);
        for (;;) {
            auto bytes = co_await as_result(c.stream.receive());
            if (!bytes) break;
            read += bytes->view();
        }
    };
    for_seeds(10, upgrades_by(run), [&read](world& w) -> task<> {
        read.clear();
        h2_peer p(co_await w.connect());
        auto& m = p.connect("echo", "/");
        const auto ended = [&m] { return m.ended; };
        co_await p.until(ended);
        EXPECT_EQ(m.content, "all");
        // Longer than the patience with a request that nobody reads.
        co_await p.go_on_for(60s);
        EXPECT_FALSE(m.reset);
        p.write(m, text(200'000), true);
        const auto all = [&read] { return read.size() == 200'000; };
        co_await p.until(all);
        EXPECT_EQ(read, text(200'000));
        EXPECT_FALSE(m.reset);
    });
}

TEST(h2_tunnels, that_end_first_wait_a_little_for_the_client) {
    const auto run = [](http::upgraded_connection& c) -> task<> { co_await c.stream.send("bye"); };
    for_seeds(5, upgrades_by(run), [](world& w) -> task<> {
        h2_peer p(co_await w.connect());
        auto& m = p.connect("echo", "/");
        const auto ended = [&m] { return m.ended; };
        co_await p.until(ended);
        EXPECT_EQ(m.content, "bye");
        const time_point begun = w.sim.now();
        co_await expect_reset(p, m, error_code::no_error);
        EXPECT_LT(w.since(begun), 7s);
    });
}

TEST(h2_tunnels, that_the_client_resets_fail_like_a_connection) {
    std::string said;
    const auto run = [&said](http::upgraded_connection& c) -> task<> {
        said = co_await read_some(c.stream, 3);
        auto bytes = co_await as_result(c.stream.receive());
        said += bytes ? " more" : ' ' + bytes.error().code().message();
        auto sent = co_await as_result(c.stream.send("x"));
        said += sent ? " sent" : ' ' + sent.error().code().message();
    };
    const std::string reset = std::make_error_code(std::errc::connection_reset).message();
    for_seeds(10, upgrades_by(run), [&](world& w) -> task<> {
        said.clear();
        h2_peer p(co_await w.connect());
        auto& m = p.connect("echo", "/");
        p.write(m, "one", false);
        const auto one = [&] { return said == "one"; };
        co_await wait_for(p, one);
        p.cancel(m);
        const auto over = [&] { return said.size() > 4; };
        co_await wait_for(p, over);
        EXPECT_EQ(said, "one " + reset + ' ' + reset);
        // A connection that is lost is no different.
        said.clear();
        auto& second = p.connect("echo", "/");
        p.write(second, "two", false);
        const auto two = [&] { return said == "two"; };
        co_await wait_for(p, two);
        p.connection().close(true);
        while (!over()) co_await sleep_for(100ms);
        EXPECT_EQ(said, "two " + reset + ' ' + reset);
        while (w.counters().open != 0) co_await sleep_for(10ms);
    });
}

TEST(h2_tunnels, tell_of_a_client_that_leaves) {
    struct watch : hangup_watch {
        explicit watch(event& e) : hangup_watch{&heard}, told(&e) {}
        static void heard(hangup_watch& w) noexcept { static_cast<watch&>(w).told->set(); }
        event* told;
    };
    int ended = 0;
    const auto run = [&ended](http::upgraded_connection& c) -> task<> {
        event told;
        watch w(told);
        EXPECT_TRUE(c.stream.watch_hangup(&w));
        co_await told.wait();
        EXPECT_FALSE(c.stream.watch_hangup(&w));
        ++ended;
    };
    for_seeds(5, upgrades_by(run), [&](world& w) -> task<> {
        ended = 0;
        h2_peer p(co_await w.connect());
        auto& reset = p.connect("echo", "/");
        auto& closed = p.connect("echo", "/");
        const auto accepted = [&] { return closed.status != 0 && reset.status != 0; };
        co_await p.until(accepted);
        EXPECT_EQ(ended, 0);
        p.cancel(reset);
        p.write(closed, "", true);
        const auto both = [&] { return ended == 2; };
        co_await wait_for(p, both);
    });
}

TEST(h2_tunnels, whose_function_throws_are_reset) {
    const auto run = [](http::upgraded_connection& c) -> task<> {
        co_await c.stream.send("begun");
        throw std::runtime_error("no more");
    };
    for_seeds(5, upgrades_by(run), [](world& w) -> task<> {
        const error_log log(w.sim.log());
        h2_peer p(co_await w.connect());
        auto& m = p.connect("echo", "/");
        co_await expect_reset(p, m, error_code::cancel);
        EXPECT_NE(log.text().find("no more"), std::string::npos) << log.text();
        EXPECT_EQ(w.counters().handler_errors, 1u);
    });
}

TEST(h2_tunnels, send_no_more_than_the_client_takes) {
    std::size_t sent = 0;
    const auto run = [&sent](http::upgraded_connection& c) -> task<> {
        const std::string piece = text(10'000);
        for (;;) {
            auto went = co_await as_result(c.stream.send(piece));
            if (!went) break;
            sent += *went;
        }
    };
    for_seeds(5, upgrades_by(run), [&sent](world& w) -> task<> {
        sent = 0;
        h2_peer p(co_await w.connect());
        p.consumes = false;
        auto& m = p.connect("echo", "/");
        co_await p.go_on_for(60s);
        // The window, and what waits for it.
        EXPECT_EQ(m.content.size(), 64u * 1024);
        EXPECT_LE(sent, 64u * 1024 + 20'000);
        auto& beside = p.get("/");
        co_await p.until_over(beside);
        EXPECT_EQ(beside.status, 501);
        p.cancel(m);
        co_await p.flush();
    });
}

TEST(h2_tunnels, that_have_ended_wait_no_longer_for_a_client_than_a_response_does) {
    int over = 0;
    const auto run = [&over](http::upgraded_connection& c) -> task<> {
        co_await c.stream.send(text(64 * 1024));
        // It waits for the window, and is copied.
        co_await c.stream.send(text(2000));
        ++over;
    };
    for_seeds(5, upgrades_by(run), [&over](world& w) -> task<> {
        over = 0;
        h2_peer p(co_await w.connect());
        p.consumes = false;
        auto& m = p.connect("echo", "/");
        const time_point begun = w.sim.now();
        co_await expect_reset(p, m, error_code::cancel);
        EXPECT_EQ(over, 1);
        EXPECT_EQ(m.content.size(), 64U * 1024);
        EXPECT_GT(w.since(begun), 20s);
        EXPECT_LT(w.since(begun), 50s);
        EXPECT_EQ(w.counters().write_timeouts, 1U);
        // One that takes its time gets all.
        auto& slow = p.connect("echo", "/");
        co_await p.go_on_for(15s);
        EXPECT_EQ(over, 2);
        p.session().consume(slow, slow.content.size(), w.sim.now().time_since_epoch());
        co_await p.until_over(slow);
        EXPECT_TRUE(slow.ended);
        EXPECT_EQ(slow.content.size(), 64U * 1024 + 2000);
    });
}

TEST(h2_tunnels, take_no_more_than_is_read) {
    event reads;
    const auto run = [&reads](http::upgraded_connection& c) -> task<> {
        co_await reads.wait();
        std::size_t n = 0;
        while (n != 300'000) n += (co_await c.stream.receive()).size();
    };
    for_seeds(5, upgrades_by(run), [&reads](world& w) -> task<> {
        reads.reset();
        h2_peer p(co_await w.connect());
        auto& m = p.connect("echo", "/");
        p.write(m, text(300'000), false);
        co_await p.go_on_for(10s);
        EXPECT_EQ(m.unsent(), 300'000u - 64 * 1024);
        reads.set();
        const auto sent = [&m] { return m.sent; };
        co_await p.until(sent);
        EXPECT_EQ(m.unsent(), 0u);
    });
}

TEST(h2_tunnels, are_cut_in_the_midst_of_a_send_that_is_cancelled) {
    const auto run = [](http::upgraded_connection& c) -> task<> {
        const std::string large = text(500'000);
        const auto send = [&]() -> task<> { co_await c.stream.send(large); };
        auto sent = co_await as_result(with_timeout(1s, send));
        EXPECT_FALSE(sent);
        EXPECT_EQ(c.stream.try_send("x"), -ECONNABORTED);
        // Receiving loses nothing.
        auto nothing =
            co_await as_result(with_timeout(1s, [&c]() -> task<> { co_await c.stream.receive(); }));
        EXPECT_FALSE(nothing);
        EXPECT_EQ(co_await read_some(c.stream, 4), "late");
    };
    for_seeds(5, upgrades_by(run), [](world& w) -> task<> {
        h2_peer p(co_await w.connect());
        p.consumes = false;
        auto& m = p.connect("echo", "/");
        co_await p.go_on_for(10s);
        p.write(m, "late", false);
        co_await expect_reset(p, m, error_code::cancel);
    });
}

TEST(h2_tunnels, may_be_drained_and_are_cut_when_that_takes_too_long) {
    http::server_options o;
    o.timeouts.drain = 5s;
    for_seeds(
        5,
        [](world& w) -> task<> {
            h2_peer p(co_await w.connect());
            auto& ends = p.connect("echo", "/upgrade");
            auto& stays = p.connect("echo", "/upgrade");
            const auto accepted = [&] { return ends.status != 0 && stays.status != 0; };
            co_await p.until(accepted);
            w.server.stop();
            const auto told = [&p] { return p.goaways().size() == 2; };
            co_await p.until(told);
            p.write(ends, "still here", true);
            co_await p.until_over(ends);
            EXPECT_EQ(ends.content, "still here");
            EXPECT_FALSE(ends.reset);
            const time_point begun = w.sim.now();
            co_await p.until_closed();
            EXPECT_FALSE(stays.ended);
            EXPECT_LT(w.since(begun), 6s);
            EXPECT_EQ(w.counters().cut_by_drain, 1u);
        },
        o);
}

TEST(h2_tunnels, send_files) {
    const coracle::testing::temporary_directory files;
    const std::string content = text(300'000);
    const int fd = open(files.write("sent", content).c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    const auto run = [fd](http::upgraded_connection& c) -> task<> {
        EXPECT_EQ(co_await c.stream.send_file(fd, 100, 250'000), 250'000u);
        auto beyond = co_await as_result(c.stream.send_file(fd, 299'999, 2));
        EXPECT_FALSE(beyond);
    };
    for_seeds(3, upgrades_by(run), [&](world& w) -> task<> {
        h2_peer p(co_await w.connect());
        auto& m = p.connect("echo", "/");
        const auto ended = [&m] { return m.over(); };
        co_await p.until(ended);
        EXPECT_EQ(m.content, content.substr(100, 250'000) + content.substr(299'999));
    });
    close(fd);
}
