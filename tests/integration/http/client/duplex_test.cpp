// Responses that are read while their requests are being sent.

#include "support/both_ways.hpp"
#include "support/client_calls.hpp"
#include "support/each_version.hpp"
#include "support/eventually.hpp"

#include <coracle/http/call_observer.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>
#include <coracle/testing/simulation.hpp>

#include <gmock/gmock.h>

#include <stdexcept>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;

http::handler routes() {
    http::router all;
    all.post("/echo", echo_body);
    all.post("/refuse", [](http::request&) { return http::status::forbidden; });
    all.post("/elsewhere", [](http::request&) {
        return http::response(http::status::temporary_redirect).set("Location", "/tell");
    });
    all.post("/tell", tell_request);
    all.get("/tell", tell_request);
    return all;
}

class duplex_calls : public each_version {
protected:
    http::call post(std::string_view target, http::body::stream_function body) {
        return client_.post(server_.url(target)).body(http::body::stream(std::move(body)));
    }
    /// Waits until the server has noticed that its clients are gone.
    void expect_nothing_in_flight() {
        EXPECT_TRUE(eventually([this] { return server_.counters().in_flight == 0; }));
    }

    local_server server_{routes()};
    http::client client_{options()};
};

/// Writes bytes without end, and says when it is destroyed.
struct endless {
    bool* ended;
    task<> operator()(http::body_writer& out) const {
        struct at_end {
            bool* flag;
            ~at_end() { *flag = true; }
        } const says{ended};
        const std::string piece(10'000, 'e');
        for (;;) co_await out.write(piece);
    }
};

TEST_P(duplex_calls, carry_more_both_ways_than_windows_and_buffers_hold) {
    block_on([&] { return echo_much(client_, server_.url("/echo"), 300); });
}

TEST_P(duplex_calls, let_each_side_wait_for_what_the_other_says) {
    block_on([&] { return echo_by_turns(client_, server_.url("/echo"), 100); });
}

TEST_P(duplex_calls, run_their_function_once_where_the_request_is_sent_first) {
    block_on([&]() -> task<> {
        int runs = 0;
        std::string text;
        const auto read = [&](http::response& r) -> task<> {
            ++runs;
            text = co_await r.text();
        };
        co_await client_.get(server_.url("/tell")).duplex(read);
        EXPECT_THAT(text, ::testing::StartsWith("GET /tell\n"));
        co_await client_.post(server_.url("/tell")).body("small").duplex(read);
        EXPECT_EQ(body_told(text), "small");
        const std::string large(3'000'000, 'l');
        co_await client_.post(server_.url("/tell")).body(large).duplex(read);
        EXPECT_EQ(body_told(text), large);
        EXPECT_EQ(runs, 3);
    });
}

TEST_P(duplex_calls, follow_redirects_before_they_run_their_function) {
    block_on([&]() -> task<> {
        int runs = 0;
        const std::string large(3'000'000, 'l');
        co_await client_.post(server_.url("/elsewhere"))
            .body(large)
            .follow(http::follow::same_method)
            .duplex([&](http::response& r) -> task<> {
                ++runs;
                EXPECT_EQ(body_told(co_await r.text(8'000'000)), large);
            });
        EXPECT_EQ(runs, 1);
    });
}

TEST_P(duplex_calls, stop_sending_where_the_server_refuses_the_request) {
    block_on([&]() -> task<> {
        bool ended = false;
        http::status seen{};
        co_await post("/refuse", endless{&ended}).duplex([&](http::response& r) -> task<> {
            EXPECT_TRUE(ended);
            seen = r.status();
            co_return;
        });
        EXPECT_EQ(seen, http::status::forbidden);
    });
}

TEST_P(duplex_calls, stop_sending_when_their_function_ends_before_the_response) {
    block_on([&]() -> task<> {
        bool ended = false;
        co_await post("/echo", endless{&ended}).duplex([&](http::response& r) -> task<> {
            EXPECT_FALSE((co_await r.read()).empty());
            EXPECT_FALSE(ended);
        });
        EXPECT_TRUE(ended);
        EXPECT_EQ(
            body_told(co_await (co_await client_.post(server_.url("/tell")).body("x")).text()),
            "x");
    });
    expect_nothing_in_flight();
}

TEST_P(duplex_calls, stop_sending_when_their_function_drops_the_response) {
    block_on([&]() -> task<> {
        bool ended = false;
        co_await post("/echo", endless{&ended}).duplex([&](http::response& r) -> task<> {
            const http::response dropped = std::move(r);
            co_return;
        });
        EXPECT_TRUE(ended);
    });
    expect_nothing_in_flight();
}

TEST_P(duplex_calls, throw_what_their_function_throws) {
    block_on([&]() -> task<> {
        bool ended = false;
        auto refused =
            co_await as_result(post("/echo", endless{&ended}).duplex([](http::response&) -> task<> {
                throw_exception(error(std::errc::bad_message, "test"));
                co_return;
            }));
        EXPECT_EQ(refused.error(), std::errc::bad_message);
        EXPECT_TRUE(ended);
        bool thrown = false;
        ended = false;
        try {
            co_await post("/echo", endless{&ended}).duplex([](http::response&) -> task<> {
                throw std::runtime_error("of the test");
                co_return;
            });
        } catch (const std::runtime_error& e) {
            thrown = e.what() == "of the test"sv;
        }
        EXPECT_TRUE(thrown);
        EXPECT_TRUE(ended);
        const auto throws = [](http::response&) -> task<> {
            throw std::runtime_error("of the test");
            co_return;
        };
        thrown = false;
        try {
            co_await client_.get(server_.url("/tell")).duplex(throws);
        } catch (const std::runtime_error&) {
            thrown = true;
        }
        EXPECT_TRUE(thrown);
    });
    expect_nothing_in_flight();
}

TEST_P(duplex_calls, fail_with_what_their_body_fails_with) {
    block_on([&]() -> task<> {
        coracle::event begun;
        bool cancelled = false;
        const auto breaks = [&](http::body_writer& out) -> task<> {
            co_await out.write("one piece");
            co_await begun.wait();
            throw_exception(error(std::errc::bad_message, "test"));
        };
        auto done =
            co_await as_result(post("/echo", breaks).duplex([&](http::response& r) -> task<> {
                EXPECT_EQ(co_await r.read(), "one piece");
                begun.set();
                auto more = r.read();
                cancelled = coracle::detail::is_cancellation((co_await as_result(more)).error());
            }));
        EXPECT_EQ(done.error(), std::errc::bad_message);
        EXPECT_TRUE(cancelled);
    });
    expect_nothing_in_flight();
}

TEST_P(duplex_calls, end_when_they_are_cancelled) {
    block_on([&]() -> task<> {
        bool ended = false;
        event begun;
        const auto call = [&]() -> task<> {
            co_await post("/echo", endless{&ended}).duplex([&](http::response&) -> task<> {
                begun.set();
                co_await forever();
            });
        };
        // The response begins when a part of the body has been echoed.
        co_await when_any(call(), begun.wait());
        EXPECT_TRUE(ended);
    });
    expect_nothing_in_flight();
}

TEST_P(duplex_calls, keep_their_connection_for_the_next_ones) {
    block_on([&]() -> task<> {
        for (int i = 0; i != 5; ++i) {
            const auto send = [](http::body_writer& out) -> task<> {
                const std::string piece(200'000, 'p');
                for (int n = 0; n != 4; ++n) co_await out.write(piece);
            };
            co_await post("/echo", send).duplex([](http::response& r) -> task<> {
                EXPECT_EQ((co_await r.text()).size(), 800'000U);
            });
        }
    });
    EXPECT_EQ(server_.counters().connections, 1U);
    EXPECT_EQ(server_.counters().requests, 5U);
}

TEST(duplex_calls_1_1, keep_a_response_whose_server_reads_no_more) {
    const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
    const scripted_peer peer(script().read_head().send(head + "ok").pause(50ms).reset());
    block_on([&]() -> task<> {
        http::client client;
        bool ended = false;
        std::string text;
        co_await client.post(peer.url("/"))
            .body(http::body::stream(endless{&ended}))
            .duplex([&](http::response& r) -> task<> { text = co_await r.text(); });
        EXPECT_EQ(text, "ok");
        EXPECT_TRUE(ended);
    });
}

TEST(duplex_calls_1_1, end_where_the_server_hangs_up_behind_its_response) {
    const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
    const scripted_peer peer(script().read_head().send(head + "ok").pause(20ms).close());
    block_on([&]() -> task<> {
        http::client client;
        std::string text;
        const auto silent = [](http::body_writer& out) -> task<> {
            co_await out.write("begin");
            co_await forever();
        };
        co_await client.post(peer.url("/"))
            .body(http::body::stream(silent))
            .duplex([&](http::response& r) -> task<> { text = co_await r.text(); });
        EXPECT_EQ(text, "ok");
    });
}

TEST(duplex_calls_1_1, switch_protocols_behind_the_request) {
    const std::string head =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";
    const scripted_peer peer(script()
                                 .read_until("first")
                                 .send(head + "new")
                                 .read_until("last\r\n0\r\n\r\n")
                                 .read_until("ours")
                                 .cut());
    block_on([&]() -> task<> {
        http::client client;
        const auto slow = [](http::body_writer& out) -> task<> {
            co_await out.write("first");
            co_await sleep_for(20ms);
            co_await out.write("last");
        };
        std::string heard;
        co_await client.post(peer.url("/"))
            .header("Connection", "Upgrade")
            .header("Upgrade", "x")
            .body(http::body::stream(slow))
            .duplex([&](http::response& r) -> task<> {
                auto switched = r.detach();
                EXPECT_TRUE(switched && switched->stream != nullptr);
                if (!switched || switched->stream == nullptr) co_return;
                heard = switched->received.view();
                co_await switched->stream->send("ours");
                auto end = co_await as_result(switched->stream->receive());
                EXPECT_FALSE(end);
            });
        EXPECT_EQ(heard, "new");
        EXPECT_EQ(client.statistics().connections, 0U);
    });
    EXPECT_EQ(peer.record().failure, "");
}

TEST(duplex_calls_1_1, fail_where_the_connection_ends_before_the_response) {
    const scripted_peer peer(script().read_head().pause(20ms).close().again());
    block_on([&]() -> task<> {
        http::client client;
        bool ended = false;
        bool run = false;
        auto done = co_await as_result(client.post(peer.url("/"))
                                           .body(http::body::stream(endless{&ended}))
                                           .duplex([&](http::response&) -> task<> {
                                               run = true;
                                               co_return;
                                           }));
        EXPECT_FALSE(done);
        EXPECT_FALSE(run);
        EXPECT_TRUE(ended);
    });
}

TEST(duplex_calls_1_1, go_on_sending_where_the_end_of_the_response_was_not_asked_for) {
    constexpr std::size_t size = 8'000'000;
    constexpr std::size_t length = 20'000;
    const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n";
    const scripted_peer peer(
        script().read_head().send(head + std::string(length, 'r')).pause(50ms).read_exactly(size));
    block_on([&]() -> task<> {
        http::client client;
        const std::string body(size, 's');
        co_await client.post(peer.url("/")).body(body).duplex([&](http::response& r) -> task<> {
            for (std::size_t n = 0; n < length;) n += (co_await r.read()).size();
        });
        // The connection, with what the system has not sent yet, would end with its loop.
        while (!peer.record().closed) co_await sleep_for(1ms);
    });
    EXPECT_EQ(peer.record().failure, "");
    EXPECT_GE(peer.record().bytes_received, size);
}

TEST(duplex_calls_1_1, go_on_sending_behind_a_response_that_is_whole) {
    const std::size_t size = 8'000'000;
    const scripted_peer peer(script()
                                 .read_head()
                                 .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                                 .pause(100ms)
                                 .read_exactly(size));
    block_on([&]() -> task<> {
        http::client client;
        std::string text;
        co_await client.post(peer.url("/"))
            .body(std::string(size, 's'))
            .duplex([&](http::response& r) -> task<> { text = co_await r.text(); });
        EXPECT_EQ(text, "ok");
        while (!peer.record().closed) co_await sleep_for(1ms);
    });
    EXPECT_EQ(peer.record().failure, "");
    EXPECT_GE(peer.record().bytes_received, size);
}

/// Counts what it is told of calls.
struct counting_observer {
    void observe(const http::call_record& r) {
        ++calls;
        if (r.is_whole) ++whole;
        received = r.info.bytes_received;
    }
    int calls = 0;
    int whole = 0;
    std::uint64_t received = 0;
};

TEST_P(duplex_calls, are_seen_by_observers_once) {
    counting_observer seen;
    block_on([&]() -> task<> {
        http::client client{options()};
        client.observe(seen);
        const auto send = [](http::body_writer& out) -> task<> {
            const std::string piece(500'000, 'p');
            for (int n = 0; n != 4; ++n) co_await out.write(piece);
        };
        co_await client.post(server_.url("/echo"))
            .body(http::body::stream(send))
            .duplex([](http::response& r) -> task<> {
                EXPECT_EQ((co_await r.text(4'000'000)).size(), 2'000'000U);
            });
        EXPECT_EQ(seen.calls, 1);
        EXPECT_EQ(seen.whole, 1);
        EXPECT_GE(seen.received, 2'000'000U);
        bool ended = false;
        co_await client.post(server_.url("/echo"))
            .body(http::body::stream(endless{&ended}))
            .duplex([](http::response&) -> task<> { co_return; });
    });
    EXPECT_EQ(seen.calls, 2);
    EXPECT_EQ(seen.whole, 1);
}

TEST(duplex_calls_1_1, wait_for_a_response_as_long_as_others_once_the_request_is_sent) {
    constexpr std::size_t size = 100'000;
    simulation world(1);
    scripted_peer peer(world.loop(), script().read_head().read_exactly(size).stall());
    world.run([&]() -> task<> {
        http::client_options o;
        o.first_byte_timeout = 3s;
        http::client client(o);
        const auto send = [](http::body_writer& out) -> task<> {
            const std::string piece(size, 'p');
            co_await out.write(piece);
        };
        const time_point began = world.now();
        const auto none = [](http::response&) -> task<> {
            ADD_FAILURE() << "there is no response";
            co_return;
        };
        auto calling = client.post(peer.url("/")).body(http::body::stream(send, size)).duplex(none);
        EXPECT_EQ((co_await as_result(calling)).error(), std::errc::timed_out);
        EXPECT_GE(world.now() - began, 3s);
        EXPECT_LE(world.now() - began, 4s);
        peer.stop();
    });
}

INSTANTIATE_TEST_SUITE_P(over, duplex_calls, both_versions(), version_name);

}  // namespace
}  // namespace coracle::testing
