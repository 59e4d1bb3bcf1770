// Retries of a client, and the copies of a call that hedges.

#include "support/client_calls.hpp"

#include <coracle/http/curlev.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>
#include <coracle/testing/simulation.hpp>

#include <gmock/gmock.h>

#include <limits>
#include <thread>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(client_retries, come_where_the_server_says_so_and_stop_at_their_number) {
    const std::string busy =
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n";
    const scripted_peer peer({script().read_head().send(busy).close(),
                              script().read_head().send(busy).close(),
                              script().read_head().respond("good")});
    http::client client;
    const auto r = client.post(peer.url()).body("x").retry(2, 1ms).wait();
    EXPECT_EQ(r.body, "good");
    EXPECT_EQ(r.info.attempts, 3U);
    EXPECT_EQ(client.statistics().retries, 2U);
    const scripted_peer always(script().read_head().send(busy).again());
    const auto last = client.get(always.url()).retry(3, 1ms).wait();
    EXPECT_EQ(last.status, http::status::service_unavailable);
    EXPECT_EQ(last.info.attempts, 4U);
}

TEST(client_retries, are_told_with_those_before_a_redirect_and_without_challenges) {
    const std::string last = "Connection: close\r\nContent-Length: 0\r\n\r\n";
    const scripted_peer peer(
        {script().read_head().send("HTTP/1.1 503 Busy\r\n" + last).close(),
         script().read_head().send("HTTP/1.1 302 Found\r\nLocation: /x\r\n" + last).close(),
         script()
             .read_head()
             .send("HTTP/1.1 401 Who\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"n\", "
                   "qop=\"auth\", algorithm=SHA-256\r\n" +
                   last)
             .close(),
         script().read_head().respond("good")});
    http::client client;
    const auto r = client.get(peer.url())
                       .digest("me", "secret")
                       .follow(http::follow::standard)
                       .retry(2, 1ms)
                       .wait();
    EXPECT_EQ(r.body, "good");
    EXPECT_EQ(r.info.retries, 1U);
    EXPECT_EQ(r.info.redirects, 1U);
    EXPECT_EQ(r.info.attempts, 2U);
}

TEST(client_retries, come_after_what_passes_where_that_is_safe) {
    for (const char* status : {"408", "500", "502", "503", "504"}) {
        const std::string line = "HTTP/1.1 " + std::string(status) + " Busy\r\n";
        const scripted_peer busy(
            script().read_head().send(line + "Content-Length: 0\r\n\r\n").again());
        http::client client;
        const unsigned safe = status == std::string_view("500") ? 1U : 2U;
        EXPECT_EQ(client.post(busy.url()).retry(1, 1ms).wait().info.attempts, 1U) << status;
        EXPECT_EQ(client.put(busy.url()).retry(1, 1ms).wait().info.attempts, safe) << status;
        http::client_options o;
        o.retry.not_idempotent = true;
        const http::full_response r = client.post(busy.url()).options(o).retry(1, 1ms).wait();
        EXPECT_EQ(r.info.attempts, safe) << status;
    }
}

TEST(client_retries, do_not_wait_longer_than_they_may) {
    const scripted_peer peer(
        script()
            .read_head()
            .send(
                "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n")
            .again());
    http::client client;
    const auto r = client.get(peer.url()).retry(2).wait();
    EXPECT_EQ(r.status, http::status::too_many_requests);
    EXPECT_EQ(r.info.attempts, 1U);
}

/// How long a call took that nobody accepts, with a second before its first retry and at most four
/// before any.
duration time_of_retries(unsigned retries, bool backoff) {
    simulation sim(1);
    duration took{};
    sim.run([&]() -> task<> {
        http::client_options o;
        o.retry.retries = retries;
        o.retry.delay = 1s;
        o.retry.longest_delay = 4s;
        o.retry.backoff = backoff;
        http::client client(o);
        const time_point begun = sim.now();
        auto call = client.get("http://127.0.0.1:80/");
        const auto refused = co_await as_result(call);
        EXPECT_FALSE(refused);
        EXPECT_EQ(client.statistics().retries, retries);
        took = sim.now() - begun;
    });
    return took;
}

TEST(client_retries, wait_twice_as_long_each_time_less_a_part_by_chance) {
    duration most{};
    for (unsigned retries = 1; retries <= 5; ++retries) {
        const duration delays[] = {1s, 2s, 4s, 4s, 4s};
        most += delays[retries - 1];
        const duration took = time_of_retries(retries, true);
        EXPECT_GE(took, most / 2) << retries;
        EXPECT_LT(took, most) << retries;
    }
}

TEST(client_retries, come_at_equal_distances_without_backoff) {
    const duration took = time_of_retries(5, false);
    EXPECT_GE(took, 5s);
    EXPECT_LT(took, 5100ms);
}

TEST(client_retries, may_have_a_budget_without_an_end) {
    const scripted_peer peer(script().read_head().cut());
    http::client_options o;
    o.retry.retries = 10;
    o.retry.delay = 1us;
    o.retry.budget_percent = std::numeric_limits<unsigned>::max();
    http::client client(o);
    for (int i = 0; i != 10; ++i) EXPECT_TRUE(failure_of(client.get(peer.url())).code());
    EXPECT_EQ(client.statistics().retries, 100U);
    EXPECT_EQ(client.statistics().retries_held_back, 0U);
}

TEST(client_retries, have_a_budget_and_say_when_it_is_used_up) {
    const scripted_peer peer(script().read_head().cut());
    http::client_options o;
    o.retry.retries = 20;
    o.retry.delay = 1us;
    http::client client(o);
    for (int i = 0; i != 5; ++i) {
        const error e = failure_of(client.get(peer.url()));
        EXPECT_TRUE(e.code());
        EXPECT_THAT(e.message(), ::testing::HasSubstr("not retried: retry_budget_percent"));
        ASSERT_NE(http::info_of(e), nullptr);
        EXPECT_TRUE(http::info_of(e)->retry_held_back);
    }
    EXPECT_GE(client.statistics().retries, 10U);
    EXPECT_LE(client.statistics().retries, 12U);
    EXPECT_EQ(client.statistics().retries_held_back, 5U);
    EXPECT_EQ(peer.connections(), 5U + client.statistics().retries);
    const std::string busy = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
    const scripted_peer server(script().read_head().send(busy).again());
    const auto r = client.get(server.url()).wait();
    EXPECT_EQ(r.status, http::status::service_unavailable);
    EXPECT_TRUE(r.info.retry_held_back);
}

TEST(client_retries, that_a_call_asks_for_are_all_made) {
    const scripted_peer peer(script().read_head().cut());
    http::client client;
    for (int i = 0; i != 3; ++i) {
        const error e = failure_of(client.get(peer.url()).retry(10, 1us));
        EXPECT_EQ(e.attempt(), 11U);
        EXPECT_FALSE(http::info_of(e)->retry_held_back);
    }
    EXPECT_EQ(client.statistics().retries, 30U);
}

TEST(client_retries, of_curlev_wait_as_long_as_the_server_says) {
    const auto busy = [](std::string_view after) {
        return "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nRetry-After: " + std::string(after) +
               "\r\n\r\n";
    };
    http::client_options o = http::curlev_defaults();
    o.retry.retries = 1;
    o.proxy_from_environment = false;
    EXPECT_EQ(o.retry.delay, 100ms);
    for (const auto& [after, attempts] : {std::pair("7", 2U), std::pair("3600", 1U)}) {
        simulation world(1);
        scripted_peer_options at;
        at.listen = "10.0.0.1:80";
        scripted_peer server(
            world.loop(),
            {script().read_head().send(busy(after)).close(), script().read_head().respond("good")},
            at);
        world.run([&]() -> task<> {
            http::client client(o);
            auto calling = client.get(server.url());
            const auto r = co_await calling.full();
            EXPECT_EQ(r.info.attempts, attempts);
            EXPECT_EQ(r.info.times.ended >= 7s, attempts == 2);
            server.stop();
        });
    }
}

TEST(client_retries, never_repeat_a_post_whose_connection_switched_to_what_was_not_asked_for) {
    const scripted_peer peer(script().read_head().send(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n"));
    http::client client;
    const error e = failure_of(client.post(peer.url())
                                   .header("Connection", "Upgrade")
                                   .header("Upgrade", "boat")
                                   .retry(3, 1ms));
    EXPECT_EQ(e, errc::protocol_error) << e;
    EXPECT_FALSE(e.safe_to_retry());
    EXPECT_EQ(peer.connections(), 1U);
}

TEST(client_retries, repeat_what_a_post_was_redirected_to) {
    const scripted_peer end({script().read_head().cut(), script().read_head().respond("good")});
    const local_server start(
        [&end](http::request&) { return http::redirect(end.url(), http::status::see_other); });
    http::client client;
    auto c = client.post(start.url()).body("x").follow(http::follow::standard).retry(1, 1ms);
    EXPECT_EQ(std::move(c).wait().body, "good");
    EXPECT_EQ(end.connections(), 2U);
}

TEST(client_retries, have_the_time_of_an_attempt_behind_a_redirect_too) {
    simulation sim(1);
    sim.run([&]() -> task<> {
        int asked = 0;
        const auto respond = [&asked](http::request& req) -> task<http::response> {
            if (req.path() == "/end") {
                co_await sleep_for(300ms);
                co_return http::response("good");
            }
            if (++asked == 1) co_await sleep_for(1h);
            co_return http::redirect("/end", http::status::found);
        };
        local_server server(sim.loop(), respond);
        http::client_options o;
        o.proxy_from_environment = false;
        o.follow = http::follow::standard;
        o.retry.retries = 1;
        o.retry.attempt_timeout = 1s;
        http::client client(o);
        auto asking = client.get(server.url()).full();
        const auto r = co_await as_result(asking);
        EXPECT_TRUE(r.has_value());
        server.stop();
        co_await server.stopped();
    });
}

TEST(client_retries, never_repeat_a_post_that_was_sent) {
    const scripted_peer peer(script().read_head().cut());
    http::client client;
    EXPECT_TRUE(failure_of(client.post(peer.url()).body("x").retry(3, 1ms)).code());
    EXPECT_EQ(peer.connections(), 1U);
    http::client_options o;
    o.retry.retries = 2;
    o.retry.delay = 1ms;
    o.retry.not_idempotent = true;
    EXPECT_TRUE(failure_of(client.post(peer.url()).body("x").options(o)).code());
    EXPECT_EQ(peer.connections(), 4U);
}

class client_hedging : public ::testing::Test {
protected:
    using result = std::expected<http::full_response, error>;

    /// Both copies have been sent, and no server has responded.
    background_call start(const scripted_peer& peer, duration after = 1ms) {
        http::client_options o;
        o.retry.hedge_after = after;
        auto c =
            client_.get(peer.url()).options(o).start([this](result r) { got_ = std::move(r); });
        EXPECT_TRUE(peer.wait_for_stall(0));
        EXPECT_TRUE(peer.wait_for_stall(1));
        return c;
    }
    script fails_when(const gate& g) { return script().read_head().stall(g).cut(); }
    script responds_when(const gate& g) { return script().read_head().stall(g).respond("good"); }
    void wait_for_failures(std::uint64_t n) const {
        while (client_.statistics().failed < n) std::this_thread::yield();
    }

    http::client client_;
    result got_;
    const gate one_;
    const gate two_;
};

TEST_F(client_hedging, gives_the_first_response) {
    const scripted_peer peer({script().read_head().stall(), responds_when(two_)});
    const auto c = start(peer);
    two_.open();
    c.wait();
    ASSERT_TRUE(got_) << got_.error();
    EXPECT_EQ(got_->body, "good");
}

TEST_F(client_hedging, gives_the_response_of_one_copy_when_the_other_has_failed) {
    for (const bool first_fails : {true, false}) {
        const gate fail;
        const gate may_respond;
        const std::vector<script> both =
            first_fails ? std::vector{fails_when(fail), responds_when(may_respond)}
                        : std::vector{responds_when(may_respond), fails_when(fail)};
        const scripted_peer peer(both);
        const auto before = client_.statistics().failed;
        const auto c = start(peer);
        fail.open();
        wait_for_failures(before + 1);
        may_respond.open();
        c.wait();
        ASSERT_TRUE(got_) << got_.error();
        EXPECT_EQ(got_->body, "good");
    }
}

TEST_F(client_hedging, fails_when_both_copies_have) {
    const scripted_peer peer({fails_when(one_), fails_when(two_)});
    const auto c = start(peer);
    one_.open();
    wait_for_failures(1);
    EXPECT_FALSE(c.done());
    two_.open();
    c.wait();
    ASSERT_FALSE(got_);
    EXPECT_NE(got_.error(), std::errc::operation_canceled);
    EXPECT_EQ(client_.statistics().connections, 0U);
}

TEST_F(client_hedging, is_cancelled_with_one_copy_left) {
    const scripted_peer peer({fails_when(one_), responds_when(two_)});
    const auto c = start(peer);
    one_.open();
    wait_for_failures(1);
    c.cancel();
    c.wait();
    ASSERT_FALSE(got_);
    EXPECT_EQ(got_.error(), std::errc::operation_canceled);
}

TEST(client_hedging_in_time, gives_each_copy_the_time_of_an_attempt) {
    simulation sim(1);
    sim.run([&]() -> task<> {
        int asked = 0;
        const auto respond = [&asked](http::request&) -> task<http::response> {
            duration wait = 400ms;
            if (++asked == 1) wait = 1h;
            co_await sleep_for(wait);
            co_return http::response("good");
        };
        local_server server(sim.loop(), respond);
        http::client_options o;
        o.proxy_from_environment = false;
        o.retry.hedge_after = 800ms;
        o.retry.attempt_timeout = 1s;
        http::client client(o);
        auto asking = client.get(server.url()).full();
        const http::full_response r = co_await asking;
        EXPECT_EQ(r.body, "good");
        server.stop();
        co_await server.stopped();
    });
}

TEST_F(client_hedging, sends_no_copy_of_what_has_failed_before) {
    const scripted_peer peer(script().read_head().cut());
    http::client_options o;
    o.retry.hedge_after = 1h;
    EXPECT_TRUE(failure_of(client_.get(peer.url()).options(o)).code());
    EXPECT_EQ(peer.connections(), 1U);
}

}  // namespace
}  // namespace coracle::testing
