// `forward_to` between a client and a server that talk both ways at once.

#include "support/both_ways.hpp"
#include "support/client_calls.hpp"
#include "support/each_version.hpp"
#include "support/eventually.hpp"

#include <coracle/http/forward.hpp>
#include <coracle/http/router.hpp>
#include <coracle/http/upstreams.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>

#include <stdexcept>
#include <thread>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;

http::handler behind() {
    http::router all;
    all.post("/echo", echo_body);
    all.post("/refuse", [](http::request&) { return http::status::forbidden; });
    all.post("/tell", tell_request);
    all.post("/break", [](http::request& req) {
        return http::stream([&req](http::body_writer& out) -> task<> {
            co_await out.write(co_await req.body().read());
            throw std::runtime_error("of the test");
        });
    });
    return all;
}

class relays : public each_version {
protected:
    relays() {
        http::router routes;
        routes.any("/{*rest}", http::forward_to(inner_, behind_.url("")));
        front_.emplace(std::move(routes));
    }
    http::call post(std::string_view target, http::body::stream_function body) {
        return client_.post(front_->url(target)).body(http::body::stream(std::move(body)));
    }
    void expect_nothing_in_flight() {
        EXPECT_TRUE(eventually([this] { return front_->counters().in_flight == 0; }));
        EXPECT_TRUE(eventually([this] { return behind_.counters().in_flight == 0; }));
    }

    local_server behind_{behind()};
    http::client inner_{options()};
    std::optional<local_server> front_;
    http::client client_{options()};
};

task<> write_endlessly(http::body_writer& out) {
    const std::string piece(10'000, 'e');
    for (;;) co_await out.write(piece);
}

TEST_P(relays, carry_more_both_ways_than_windows_and_buffers_hold) {
    block_on([&]() -> task<> {
        for (int i = 0; i != 3; ++i) co_await echo_much(client_, front_->url("/echo"), 70);
    });
    expect_nothing_in_flight();
    EXPECT_EQ(behind_.counters().connections, 1U);
}

// That another server closes its connection says nothing of this one.
TEST(relayed_responses, end_no_connection_but_their_own) {
    const scripted_peer behind(script().read_head().respond("hi", "Connection: close\r\n"));
    http::client inner;
    const auto relay = [&](http::request&) -> task<http::response> {
        auto calling = inner.get(behind.url());
        co_return co_await calling;
    };
    const local_server front(relay);
    http::client client;
    EXPECT_EQ(client.get(front.url()).wait().body, "hi");
    EXPECT_EQ(client.get(front.url()).wait().body, "hi");
    EXPECT_EQ(client.statistics().opened, 1U);
    EXPECT_EQ(behind.connections(), 2U);
}

TEST_P(relays, keep_connections_behind_uploads) {
    const std::string body(300'000, 'b');
    for (int i = 0; i != 3; ++i) {
        const auto got = client_.post(front_->url("/tell")).body(body).wait();
        EXPECT_EQ(body_told(got.body), body);
    }
    EXPECT_EQ(behind_.counters().connections, 1U);
    EXPECT_EQ(behind_.counters().requests, 3U);
}

TEST_P(relays, let_each_side_wait_for_what_the_other_says) {
    block_on([&] { return echo_by_turns(client_, front_->url("/echo"), 50); });
}

TEST_P(relays, pass_a_refusal_on_while_the_request_comes) {
    block_on([&]() -> task<> {
        http::status seen{};
        co_await post("/refuse", write_endlessly).duplex([&](http::response& r) -> task<> {
            seen = r.status();
            co_return;
        });
        EXPECT_EQ(seen, http::status::forbidden);
    });
    expect_nothing_in_flight();
}

TEST_P(relays, break_off_where_the_server_does) {
    block_on([&]() -> task<> {
        auto done = co_await as_result(
            post("/break", write_endlessly).duplex([&](http::response& r) -> task<> {
                EXPECT_EQ(r.status(), http::status::ok);
                while (!(co_await r.read()).empty()) {
                }
            }));
        EXPECT_FALSE(done);
    });
    expect_nothing_in_flight();
}

TEST_P(relays, give_up_where_the_client_leaves) {
    block_on([&]() -> task<> {
        co_await post("/echo", write_endlessly).duplex([](http::response& r) -> task<> {
            co_await r.read();
        });
        const auto silent = [](http::body_writer& out) -> task<> {
            co_await out.write("begin");
            co_await forever();
        };
        const auto call = [&]() -> task<> {
            co_await post("/tell", silent).duplex([](http::response&) -> task<> { co_return; });
        };
        auto limited = with_timeout(100ms, call);
        EXPECT_FALSE(co_await as_result(limited));
    });
    expect_nothing_in_flight();
}

TEST_P(relays, respond_502_where_there_is_no_server) {
    http::router routes;
    routes.any("/{*rest}", http::forward_to(inner_, "http://127.0.0.1:1"));
    const local_server lonely(std::move(routes));
    block_on([&]() -> task<> {
        http::status seen{};
        co_await client_.post(lonely.url("/x"))
            .body(http::body::stream(write_endlessly))
            .duplex([&](http::response& r) -> task<> {
                seen = r.status();
                co_return;
            });
        EXPECT_EQ(seen, http::status::bad_gateway);
    });
    EXPECT_TRUE(eventually([&] { return lonely.counters().in_flight == 0; }));
}

TEST_P(relays, respond_for_a_server_that_fails_amid_the_request) {
    const scripted_peer leaves(script().read_head().cut());
    const scripted_peer stalls(script().read_head().stall());
    http::forward_options brief;
    brief.timeout = 1s;
    http::router routes;
    routes.any("/502", http::forward_to(inner_, leaves.url("")));
    routes.any("/504", http::forward_to(inner_, stalls.url(""), brief));
    http::upstreams nodes(inner_, {leaves.url("")});
    routes.any("/any", http::forward_to(nodes));
    http::upstreams patient(inner_, {stalls.url("")});
    routes.any("/patient", http::forward_to(patient, brief));
    const local_server front(std::move(routes));
    const auto status_of = [&](const char* path) -> task<int> {
        int seen = 0;
        co_await client_.post(front.url(path))
            .body(http::body::stream([](http::body_writer& out) -> task<> {
                co_await out.write("begun");
                co_await forever();
            }))
            .duplex([&](http::response& r) -> task<> {
                seen = static_cast<int>(r.status());
                co_return;
            });
        co_return seen;
    };
    block_on([&]() -> task<> {
        const int failed = co_await status_of("/502");
        EXPECT_EQ(failed, 502);
        const int late = co_await status_of("/504");
        EXPECT_EQ(late, 504);
        const int any = co_await status_of("/any");
        EXPECT_EQ(any, 502);
        EXPECT_EQ(nodes.states()[0].failures, 1U);
        // The client is what takes its time.
        const int slow = co_await status_of("/patient");
        EXPECT_EQ(slow, 504);
        EXPECT_EQ(patient.states()[0].failures, 0U);
    });
    EXPECT_TRUE(eventually([&] { return front.counters().in_flight == 0; }));
    EXPECT_EQ(front.counters().handler_errors, 0U);
}

TEST_P(relays, pass_heads_on_before_what_follows_them) {
    for (const std::optional<std::uint64_t> size : {std::optional<std::uint64_t>(), {4}}) {
        const gate more;
        const local_server slow([&](http::request&) {
            http::response r;
            r.set_body(http::body::stream(
                [&more](http::body_writer& out) -> task<> {
                    co_await out.flush();
                    co_await more.passed();
                    co_await out.write("rest");
                },
                size));
            return r;
        });
        const local_server front(http::forward_to(inner_, slow.url("")));
        block_on([&]() -> task<> {
            auto came = co_await client_.get(front.url("/x"));
            EXPECT_EQ(came.body().size(), size);
            more.open();
            const std::string text = co_await came.text();
            EXPECT_EQ(text, "rest");
        });
    }
}

/// Sends its head, and nothing else.
http::response say_nothing(http::request&) {
    return http::stream([](http::body_writer& out) -> task<> {
        co_await out.flush();
        co_await forever();
    });
}

http::server_options anywhere() {
    http::server_options o;
    o.listen = "127.0.0.1:0";
    return o;
}

TEST_P(relays, of_a_server_that_is_cancelled_are_no_failures) {
    const local_server silent(say_nothing);
    http::server front(http::forward_to(inner_, silent.url("")), anywhere());
    block_on([&]() -> task<> {
        loop& here = *loop::current();
        front.open(here);
        std::optional<http::response> came;
        const auto call = [&]() -> task<> {
            came = co_await client_.get(front.urls().front() + "/x");
        };
        const auto run = [&]() -> task<> { co_await front.run(here); };
        co_await when_any(run(), call());
        EXPECT_EQ(came.value().status(), http::status::ok);
        auto text = co_await as_result(came->text());
        EXPECT_FALSE(text);
    });
    EXPECT_EQ(front.counters().handler_errors, 0U);
    EXPECT_EQ(front.counters().responses_5xx, 0U);
}

TEST_P(relays, of_a_loop_that_is_stopped_are_no_failures) {
    const local_server silent(say_nothing);
    http::server front(http::forward_to(inner_, silent.url("")), anywhere());
    runtime rt;
    front.open(rt);
    std::thread client([&] {
        block_on([&]() -> task<> {
            auto came = co_await client_.get(front.urls().front() + "/x");
            EXPECT_EQ(came.status(), http::status::ok);
            rt.stop();
            auto text = co_await as_result(came.text());
            EXPECT_FALSE(text);
        });
    });
    rt.run([&](loop& l) -> task<> { co_await front.run(l); });
    client.join();
    EXPECT_EQ(front.counters().handler_errors, 0U);
    EXPECT_EQ(front.counters().responses_5xx, 0U);
}

TEST_P(relays, pass_requests_on_before_their_bodies) {
    const scripted_peer refuses(script().read_head().send(
        "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"));
    http::client inner;
    const local_server front(http::forward_to(inner, refuses.url("")));
    block_on([&]() -> task<> {
        http::status seen{};
        co_await client_.post(front.url("/x"))
            .body(http::body::stream([](http::body_writer& out) -> task<> {
                co_await out.flush();
                co_await forever();
            }))
            .duplex([&](http::response& r) -> task<> {
                seen = r.status();
                co_return;
            });
        EXPECT_EQ(seen, http::status::content_too_large);
    });
}

TEST_P(relays, blame_the_server_where_a_body_fails_before_its_first_byte) {
    const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const scripted_peer breaks(script().read_head().send(head + "zz\r\n").stall());
    http::client inner;
    const local_server front(http::forward_to(inner, breaks.url("")));
    EXPECT_EQ(client_.get(front.url("/x")).wait().status, http::status::bad_gateway);
}

TEST_P(relays, break_bodies_off_that_fail_behind_their_head) {
    const gate seen;
    const scripted_peer leaves(script()
                                   .read_head()
                                   .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
                                   .stall(seen)
                                   .cut());
    http::client inner;
    const local_server front(http::forward_to(inner, leaves.url("")));
    block_on([&]() -> task<> {
        auto came = co_await client_.get(front.url("/x"));
        EXPECT_EQ(came.status(), http::status::ok);
        seen.open();
        auto text = co_await as_result(came.text());
        EXPECT_FALSE(text);
    });
    EXPECT_TRUE(eventually([&] { return front.counters().in_flight == 0; }));
}

INSTANTIATE_TEST_SUITE_P(over, relays, both_versions(), version_name);

}  // namespace
}  // namespace coracle::testing
