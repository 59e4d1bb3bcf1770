// Attacks on the client by peers, callers and lifetimes, in virtual time.

#include <coracle/http/client.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

http::client_options plain() {
    http::client_options o;
    o.proxy_from_environment = false;
    o.insecure = true;  // reads no certificates of the system's
    return o;
}

/// A peer that does what the scripts say, and `ask(client, peer)`, in a world of their own.
struct stage {
    explicit stage(std::vector<script> scripts, http::client_options o = plain())
        : peer(std::in_place, sim.loop(), std::move(scripts)), client(std::in_place, std::move(o)) {
    }

    template <class F>
    void run(F ask) {
        auto main = [&]() -> task<> {
            began = sim.now();
            co_await ask();
            took = sim.now() - began;
            client.reset();
            peer->stop();
        };
        sim.run(main);
    }
    std::string received(std::size_t which) const { return peer->record(which).received; }

    simulation sim;
    std::optional<scripted_peer> peer;
    std::optional<http::client> client;
    time_point began;
    duration took{};
};

std::size_t count(std::string_view text, std::string_view part) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; ++at) ++n;
    return n;
}

}  // namespace

TEST(client_attacks, calls_with_other_credentials_do_not_take_each_others_place) {
    const std::string busy = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    http::client_options o = plain();
    o.retry.retries = 1;
    o.retry.delay = 1s;
    stage s({script().read_head().pause(100ms).send(busy), script().read_head().respond("bob"),
             script().read_head().respond("alice")},
            o);
    s.run([&]() -> task<> {
        spawn([&]() -> task<> {
            co_await sleep_for(50ms);
            auto res = co_await s.client->get(s.peer->url()).basic("bob", secret("2"));
            EXPECT_EQ(co_await res.text(), "bob");
        });
        auto res = co_await s.client->get(s.peer->url()).basic("alice", secret("1"));
        EXPECT_EQ(co_await res.text(), "alice");
    });
    EXPECT_NE(s.received(0).find("Basic YWxpY2U6MQ=="), std::string::npos);
    EXPECT_NE(s.received(1).find("Basic Ym9iOjI="), std::string::npos);
    EXPECT_NE(s.received(2).find("Basic YWxpY2U6MQ=="), std::string::npos);
}

TEST(client_attacks, a_post_that_was_begun_is_not_repeated_when_the_peer_ends_meanwhile) {
    http::client_options o = plain();
    o.retry.retries = 1;
    // Nobody reads: the send waits when the end comes, and what of it went out counts.
    stage s({script().pause(10ms).shutdown_output().stall()}, o);
    s.run([&]() -> task<> {
        auto call = s.client->post(s.peer->url());
        call.body(http::body(std::string(8 * 1024 * 1024, 'x')));
        const auto r = co_await as_result(call);
        EXPECT_TRUE(!r && r.error() == errc::end_of_stream);
        EXPECT_FALSE(!r && r.error().safe_to_retry());
    });
    EXPECT_EQ(s.peer->connections(), 1u);
}

TEST(client_attacks, a_call_that_its_progress_ends_sends_its_body_no_second_time) {
    stage s({script().read_head().read_to_end()});
    unsigned told = 0;
    s.run([&]() -> task<> {
        auto call = s.client->post(s.peer->url());
        call.body(http::body("only once")).on_progress([&](const http::progress& p) {
            EXPECT_EQ(p.sent, 9u);
            ++told;
            return false;
        });
        auto res = co_await as_result(call);
        EXPECT_FALSE(res);
    });
    EXPECT_EQ(told, 1u);
}

TEST(client_attacks, the_time_for_the_first_byte_does_not_end_the_wait_for_a_retry) {
    http::client_options o = plain();
    o.first_byte_timeout = 1s;
    o.retry.retries = 1;
    o.retry.delay = 5s;
    stage s({script().read_head().cut(), script().read_head().respond("at last")}, o);
    s.run([&]() -> task<> {
        auto res = co_await s.client->get(s.peer->url());
        EXPECT_EQ(co_await res.text(), "at last");
    });
    EXPECT_GT(s.took, 2s);
}

TEST(client_attacks, a_second_copy_has_no_more_time_than_the_call) {
    for (const bool by_options : {false, true}) {
        http::client_options o = plain();
        o.retry.hedge_after = 900ms;
        if (by_options) o.total_timeout = 1s;
        stage s({script().read_head().stall()}, o);
        s.run([&]() -> task<> {
            auto call = s.client->get(s.peer->url());
            if (!by_options) call.timeout(1s);
            auto res = co_await as_result(call);
            EXPECT_TRUE(!res && res.error() == std::errc::timed_out);
        });
        EXPECT_GE(s.took, 1s);
        EXPECT_LT(s.took, 1200ms);
        EXPECT_EQ(s.peer->connections(), 2u);
    }
}

// Both would be served, one of them for nobody.
TEST(client_attacks, a_second_copy_is_never_of_a_request_for_a_tunnel) {
    for (const bool upgrades : {false, true}) {
        http::client_options o = plain();
        o.retry.hedge_after = 100ms;
        stage s({script().read_head().stall(), script().read_head().stall()}, o);
        s.run([&]() -> task<> {
            auto call = s.client->get(s.peer->url());
            if (upgrades) call.upgrade("websocket");
            call.timeout(1s);
            auto res = co_await as_result(call);
            EXPECT_FALSE(res);
        });
        EXPECT_EQ(s.peer->connections(), upgrades ? 1u : 2u);
    }
}

TEST(client_attacks, a_retry_that_is_waited_for_keeps_no_connection) {
    http::client_options o = plain();
    o.retry.retries = 1;
    const std::string busy =
        "HTTP/1.1 503 Busy\r\nRetry-After: 20\r\n"
        "Transfer-Encoding: chunked\r\n\r\n5\r\nlater\r\n";
    stage s(
        {script().read_head().send(busy).read_to_end(), script().read_head().respond("at last")},
        o);
    s.run([&]() -> task<> {
        spawn([&]() -> task<> {
            co_await sleep_for(5s);
            EXPECT_EQ(s.client->statistics().retries, 1u);
            EXPECT_EQ(s.client->statistics().connections, 0u);
        });
        auto res = co_await s.client->get(s.peer->url());
        EXPECT_EQ(co_await res.text(), "at last");
    });
    EXPECT_GE(s.took, 20s);
}

TEST(client_attacks, a_body_that_never_ends_ends_with_the_total_timeout) {
    const std::string head = "HTTP/1.1 200 OK\r\n\r\n";
    stage s({script().read_head().send(head).send_endlessly(std::string(4096, 'x'),
                                                            script::unlimited)});
    s.run([&]() -> task<> {
        auto res = co_await s.client->get(s.peer->url()).timeout(100ms);
        for (;;) {
            auto piece = co_await as_result(res.read());
            if (piece && !piece->empty()) continue;
            EXPECT_TRUE(!piece && piece.error() == std::errc::timed_out) << "another error";
            break;
        }
        auto rest = co_await as_result(res.text());
        EXPECT_FALSE(rest) << "what failed is no whole body for who reads on";
    });
    EXPECT_LT(s.took, 300ms);
}

TEST(client_attacks, a_body_whose_reading_was_cancelled_is_not_read_on) {
    stage s({script()
                 .read_head()
                 .send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n")
                 .pause(2s)
                 .send("12345678")});
    s.run([&]() -> task<> {
        auto res = co_await s.client->get(s.peer->url());
        auto limited = with_timeout(1s, res.text());
        auto cut = co_await as_result(limited);
        EXPECT_FALSE(cut);
        auto rest = co_await as_result(res.text());
        EXPECT_FALSE(rest);
    });
}

TEST(client_attacks, a_response_may_outlive_its_client_and_its_loop) {
    std::optional<http::response> kept;
    {
        stage s({script().read_head().respond_claiming(1'000'000, "a part").stall()});
        s.run([&]() -> task<> { kept = co_await s.client->get(s.peer->url()); });
    }
    EXPECT_EQ(kept->status(), http::status::ok);
    kept.reset();
}

TEST(client_attacks, a_body_stays_within_the_length_that_was_announced) {
    stage s({script().read_head().read_to_end()});
    s.run([&]() -> task<> {
        auto write = [](http::body_writer& out) -> task<> {
            co_await out.write("12345");
            co_await out.write("GET /smuggled HTTP/1.1\r\n\r\n");
        };
        auto call = s.client->post(s.peer->url());
        call.body(http::body::stream(write, 5));
        auto res = co_await as_result(call);
        EXPECT_TRUE(!res && res.error() == std::errc::invalid_argument) << "another error";
        co_await sleep_for(1s);
    });
    EXPECT_EQ(count(s.received(0), "smuggled"), 0u);
}

TEST(client_attacks, a_user_agent_writes_no_fields_of_its_own) {
    http::client_options o = plain();
    o.user_agent = "x\r\nX-Evil: 1";
    stage s({script().read_head().respond("")}, o);
    s.run([&]() -> task<> {
        auto call = s.client->get(s.peer->url());
        auto res = co_await as_result(call);
        EXPECT_TRUE(!res && res.error() == std::errc::invalid_argument) << "another error";
    });
    EXPECT_EQ(s.peer->connections(), 0u);
}

TEST(client_attacks, credentials_of_any_kind_stay_with_their_origin) {
    simulation sim;
    scripted_peer there(sim.loop(), script().read_head().respond("there"));
    const std::string moved =
        "HTTP/1.1 307 Moved\r\nLocation: " + there.url() + "\r\nContent-Length: 0\r\n\r\n";
    scripted_peer here(sim.loop(), script().read_head().send(moved));
    auto main = [&]() -> task<> {
        http::client client(plain());
        auto call = client.get(here.url());
        call.header("Authorization", "Bearer one").header("Proxy-Authorization", "Basic two");
        call.header("Cookie", "three=3").follow(http::follow::standard);
        auto res = co_await call;
        EXPECT_EQ(co_await res.text(), "there");
    };
    sim.run(main);
    const std::string first = here.record().received;
    const std::string second = there.record().received;
    for (const char* part : {"one", "two", "three"}) {
        EXPECT_EQ(count(first, part), 1u) << part;
        EXPECT_EQ(count(second, part), 0u) << part;
    }
}

TEST(client_attacks, a_retry_after_beyond_all_numbers_is_not_waited_for) {
    for (const char* after : {"99999999999999999999999", "1000000", "4000000000"}) {
        http::client_options o = plain();
        o.retry.retries = 3;
        stage s(
            {script().read_head().send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nRetry-After: " +
                                       std::string(after) + "\r\n\r\n")},
            o);
        s.run([&]() -> task<> {
            auto res = co_await s.client->get(s.peer->url());
            EXPECT_EQ(res.status(), http::status::service_unavailable);
        });
        EXPECT_EQ(s.peer->connections(), 1u) << after;
        EXPECT_LT(s.took, 1s) << after;
    }
}

TEST(client_attacks, delays_of_any_length_do_not_overflow) {
    for (const duration delay : {duration::max(), duration::max() / 3, duration::min()}) {
        http::client_options o = plain();
        o.retry.retries = 70;
        o.retry.delay = delay;
        o.retry.longest_delay = duration::max();
        o.total_timeout = 1s;
        stage s({script().read_head().cut()}, o);
        s.run([&]() -> task<> {
            auto call = s.client->get(s.peer->url());
            auto res = co_await as_result(call);
            EXPECT_FALSE(res);
        });
        EXPECT_LT(s.took, 2s);
        if (delay < duration::zero()) continue;
        EXPECT_EQ(s.peer->connections(), 1U) << "it did not wait";
    }
}

TEST(client_attacks, small_bodies_keep_to_the_limit_too) {
    http::client_options o = plain();
    o.response_limit = 10;
    stage s({script().read_head().respond("1234567890").read_head().respond("12345678901")}, o);
    s.run([&]() -> task<> {
        auto whole = co_await s.client->get(s.peer->url());
        EXPECT_EQ(co_await whole.text(), "1234567890");
        auto more = co_await s.client->get(s.peer->url());
        auto text = co_await as_result(more.text());
        EXPECT_TRUE(!text && text.error() == errc::limit_exceeded) << "another error";
    });
}

TEST(client_attacks, an_attempt_that_takes_too_long_is_made_again) {
    http::client_options o = plain();
    o.retry.retries = 1;
    o.retry.attempt_timeout = 1s;
    stage s({script().read_head().stall(), script().read_head().respond("second")}, o);
    s.run([&]() -> task<> {
        auto res = co_await s.client->get(s.peer->url());
        EXPECT_EQ(co_await res.text(), "second");
    });
    EXPECT_LT(s.took, 2s);
}

TEST(client_attacks, a_body_that_is_long_in_coming_does_not_outlast_the_call) {
    stage s({script().read_head().read_to_end()});
    s.run([&]() -> task<> {
        auto write = [](http::body_writer& out) -> task<> {
            co_await out.write("begun");
            co_await sleep_for(1h);
        };
        auto call = s.client->post(s.peer->url());
        call.body(http::body::stream(write)).timeout(2s);
        auto res = co_await as_result(call);
        EXPECT_TRUE(!res && res.error() == std::errc::timed_out) << "another error";
    });
    EXPECT_LT(s.took, 3s);
}

TEST(client_attacks, a_server_that_sends_nothing_is_too_slow_before_it_is_idle) {
    http::client_options o = plain();
    o.low_speed_limit = 10;
    o.low_speed_time = 5s;
    stage s({script().read_head().respond_claiming(100'000, "a part").stall()}, o);
    s.run([&]() -> task<> {
        auto res = co_await s.client->get(s.peer->url());
        auto text = co_await as_result(res.text());
        EXPECT_TRUE(!text && text.error() == errc::too_slow) << "another error";
    });
    EXPECT_LT(s.took, 11s);
}

TEST(client_attacks, a_server_that_takes_nothing_is_too_slow_before_it_is_idle) {
    http::client_options o = plain();
    o.low_speed_limit = 10;
    o.low_speed_time = 5s;
    stage s({script().read_head().stall()}, o);
    s.run([&]() -> task<> {
        auto call = s.client->post(s.peer->url()).body(std::string(20'000'000, 'b'));
        auto res = co_await as_result(call);
        EXPECT_TRUE(!res && res.error() == errc::too_slow) << "another error";
        EXPECT_TRUE(!res && res.error().phase() == phase::send);
    });
    EXPECT_LT(s.took, 11s);
}

TEST(client_attacks, an_upload_that_is_slow_enough_is_not_too_slow) {
    http::client_options o = plain();
    o.low_speed_limit = 1000;
    o.low_speed_time = 5s;
    // The function that makes the body may take its time.
    stage s({script().read_until("end").respond("done")}, o);
    s.run([&]() -> task<> {
        const auto write = [](http::body_writer& out) -> task<> {
            co_await out.write("begun");
            co_await sleep_for(20s);
            co_await out.write("end");
        };
        auto call = s.client->post(s.peer->url());
        call.body(http::body::stream(write));
        auto res = co_await as_result(call);
        EXPECT_TRUE(res) << res.error();
    });
}

TEST(client_attacks, progress_is_told_of_the_response_behind_a_redirect) {
    stage s({script()
                 .read_head()
                 .send("HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n")
                 .read_head()
                 .respond("0123456789")});
    std::uint64_t received = 0;
    s.run([&]() -> task<> {
        auto call = s.client->get(s.peer->url());
        call.follow(http::follow::standard).on_progress([&](const http::progress& p) {
            received = p.received;
            return true;
        });
        auto res = co_await call;
        EXPECT_EQ(co_await res.text(), "0123456789");
    });
    EXPECT_EQ(received, 10u);
}

TEST(client_attacks, a_call_that_outlives_its_client_is_told_so) {
    std::optional<http::call> left;
    {
        http::client client(plain());
        left.emplace(client.get("http://127.0.0.1:1/"));
    }
    error told;
    const background_call over = std::move(*left).start([&](const auto& r) { told = r.error(); });
    EXPECT_EQ(told, errc::shutting_down);
    EXPECT_TRUE(over.done());
}
