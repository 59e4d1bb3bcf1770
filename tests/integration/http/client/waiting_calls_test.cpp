// Calls that wait for their turn at the connections: their order, their bounds and what they cost.

#include "support/allocation_count.hpp"
#include "support/client_calls.hpp"

#include <coracle/runtime/runtime.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(client_connections, are_waited_for_by_so_many_only) {
    const scripted_peer peer(script().read_head().stall());
    http::pool_options p;
    p.connections_per_host = 1;
    p.waiting = 2;
    http::client client({}, p);
    std::vector<background_call> calls;
    for (int i = 0; i != 3; ++i) calls.push_back(client.get(peer.url()).start());
    while (client.statistics().waiting != 2) std::this_thread::yield();
    const error e = failure_of(client.get(peer.url()));
    EXPECT_EQ(e, errc::limit_exceeded);
    EXPECT_THAT(e.message(), HasSubstr("pool_options::waiting"));
    // One that gives up makes room.
    calls[1].cancel();
    calls[1].wait();
    EXPECT_EQ(failure_of(client.get(peer.url()).timeout(20ms)), std::errc::timed_out);
    for (const auto& c : calls) c.cancel();
    for (const auto& c : calls) c.wait();
    EXPECT_EQ(client.statistics().waiting, 0U);
    EXPECT_EQ(client.statistics().connections, 0U);
}

/// Servers that note in which order they respond, and do so to /held when its gate is open.
class client_turns : public ::testing::Test {
protected:
    http::handler noting(const gate& held) {
        return http::handler([this, held](http::request& req) -> task<http::response> {
            if (req.path() == "/held") co_await held.passed();
            const std::lock_guard lock(guard_);
            order_.emplace_back(req.path());
            co_return path_of(req);
        });
    }
    void make_client(unsigned connections, unsigned per_host,
                     http::version_choice version = http::version_choice::automatic) {
        http::pool_options p;
        p.connections = connections;
        p.connections_per_host = per_host;
        http::client_options o;
        o.http_version = version;
        client_.emplace(o, p);
    }
    /// Lets a call give up that comes before one for which a shared connection has a place.
    void give_up_before_others(unsigned per_host) {
        make_client(1, per_host, http::version_choice::http_2);
        hold(one_);
        queue(two_, "/1");
        queue(one_, "/2");
        queue(one_, "/3");
        calls_[1].cancel();
        calls_[1].wait();
        wait_for_responses(2);
        go_.open();
        EXPECT_THAT(order(), ElementsAre("/2", "/3", "/held"));
    }
    void start(const std::string& url) { calls_.push_back(client_->get(url).start()); }
    void hold(const local_server& server) {
        const auto before = client_->statistics().connections;
        start(server.url("/held"));
        while (client_->statistics().connections == before) std::this_thread::yield();
    }
    void queue(const local_server& server, const char* path) {
        const auto before = client_->statistics().waiting;
        start(server.url(path));
        while (client_->statistics().waiting == before) std::this_thread::yield();
    }
    void wait_for_responses(std::size_t n) {
        for (;; std::this_thread::yield()) {
            const std::lock_guard lock(guard_);
            if (order_.size() >= n) return;
        }
    }
    std::vector<std::string> order() {
        for (const auto& c : calls_) c.wait();
        const std::lock_guard lock(guard_);
        return order_;
    }

    const gate go_;
    const gate stay_;
    std::mutex guard_;
    std::vector<std::string> order_;
    const local_server one_{noting(go_)};
    const local_server two_{noting(stay_)};
    const local_server three_{noting(stay_)};
    std::optional<http::client> client_;
    std::vector<background_call> calls_;
};

TEST_F(client_turns, come_in_order_across_origins) {
    make_client(1, 100);
    hold(one_);
    queue(two_, "/1");
    queue(one_, "/2");
    queue(three_, "/3");
    queue(one_, "/4");
    queue(one_, "/5");
    queue(two_, "/6");
    go_.open();
    EXPECT_THAT(order(), ElementsAre("/held", "/1", "/2", "/3", "/4", "/5", "/6"));
    // One connection served two calls in a row.
    EXPECT_EQ(client_->statistics().reused, 1U);
}

TEST_F(client_turns, that_a_host_has_no_connection_for_hold_up_nobody) {
    make_client(2, 1);
    hold(two_);
    hold(one_);
    queue(two_, "/blocked");
    queue(three_, "/1");
    queue(one_, "/2");
    go_.open();
    wait_for_responses(3);
    stay_.open();
    EXPECT_THAT(order(), ElementsAre("/held", "/1", "/2", "/held", "/blocked"));
}

TEST_F(client_turns, of_calls_that_were_given_up_go_to_those_behind) {
    make_client(1, 100);
    hold(one_);
    queue(two_, "/1");
    queue(one_, "/2");
    queue(two_, "/3");
    calls_[1].cancel();
    calls_[1].wait();
    go_.open();
    EXPECT_THAT(order(), ElementsAre("/held", "/2", "/3"));
}

TEST_F(client_turns, of_calls_that_were_given_up_go_to_those_that_can_share_a_connection) {
    give_up_before_others(100);
}

TEST_F(client_turns, of_calls_that_were_given_up_go_to_those_at_the_limit_of_their_host) {
    give_up_before_others(1);
}

/// One connection, held by a call that a server never responds to.
class client_waiting : public ::testing::Test {
protected:
    using result = std::expected<http::full_response, error>;

    client_waiting() {
        hold_ = client_.get(peer_.url("/held")).start();
        EXPECT_TRUE(peer_.wait_for_stall());
    }
    ~client_waiting() override {
        hold_->cancel();
        hold_->wait();
    }
    static http::pool_options one_connection() {
        http::pool_options p;
        p.connections_per_host = 1;
        return p;
    }
    void wait_until(std::size_t waiting) {
        while (client_.statistics().waiting != waiting) std::this_thread::yield();
    }

    const scripted_peer peer_{script().read_head().stall()};
    http::client client_{{}, one_connection()};
    std::optional<background_call> hold_;
};

TEST_F(client_waiting, ends_when_it_is_cancelled_and_tells_nobody) {
    result got;
    const auto call = client_.get(peer_.url()).start([&](auto r) { got = std::move(r); });
    wait_until(1);
    call.cancel();
    call.wait();
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error(), std::errc::operation_canceled);
    EXPECT_EQ(client_.statistics().waiting, 0U);
    EXPECT_EQ(client_.statistics().calls, 1U) << "it never began";
}

TEST_F(client_waiting, ends_when_its_time_is_over) {
    result got;
    client_.get(peer_.url("/late")).timeout(20ms).start([&](auto r) { got = std::move(r); }).wait();
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error(), std::errc::timed_out);
    EXPECT_EQ(got.error().phase(), phase::connect);
    EXPECT_THAT(got.error().message(), HasSubstr("total_timeout"));
    EXPECT_THAT(got.error().message(), HasSubstr("/late"));
    EXPECT_EQ(client_.statistics().waiting, 0U);
}

TEST_F(client_waiting, ends_for_all_when_the_client_stops) {
    constexpr int many = 1'000;
    std::atomic<int> cancelled = 0;
    std::vector<background_call> calls;
    for (int i = 0; i != many; ++i) {
        calls.push_back(client_.get(peer_.url()).start([&](const auto& r) {
            cancelled += !r && r.error() == std::errc::operation_canceled ? 1 : 0;
        }));
    }
    wait_until(many);
    EXPECT_TRUE(client_.stop(10ms));
    EXPECT_EQ(cancelled, many);
    for (const auto& c : calls) EXPECT_TRUE(c.done());
    EXPECT_EQ(peer_.connections(), 1U) << "none of them was sent";
}

TEST_F(client_waiting, leaves_its_turn_to_the_next_when_it_is_cancelled_with_it) {
    const local_server server(path_of);
    http::client client({}, one_connection());
    // Cancelled at all moments: while they wait, when their turn comes, on the wire, behind it.
    constexpr int rounds = 200;
    std::atomic<int> ended = 0;
    for (int i = 0; i != rounds; ++i) {
        const auto a = client.get(server.url("/a")).start([&](const auto&) { ++ended; });
        const auto b = client.get(server.url("/b")).start([&](const auto&) { ++ended; });
        const auto c = client.get(server.url("/c")).start([&](const auto& r) {
            EXPECT_TRUE(r && r->body == "/c");
            ++ended;
        });
        if (i % 2 == 0) a.wait();
        b.cancel();
        c.wait();
        a.wait();
        b.wait();
    }
    EXPECT_EQ(ended, 3 * rounds);
    EXPECT_EQ(client.statistics().waiting, 0U);
}

TEST_F(client_waiting, ends_when_its_attempt_takes_too_long) {
    http::client_options o;
    o.retry.attempt_timeout = 20ms;
    result got;
    client_.get(peer_.url()).options(o).start([&](auto r) { got = std::move(r); }).wait();
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error(), std::errc::timed_out);
}

TEST(client_waiting_calls, end_when_the_client_stops_though_their_turn_never_comes) {
    const scripted_peer peer(script().read_head().stall());
    http::pool_options p;
    p.connections_per_host = 1;
    std::atomic<int> cancelled = 0;
    const auto count = [&](const auto& r) {
        cancelled += !r && r.error() == std::errc::operation_canceled ? 1 : 0;
    };
    {
        background_options b;
        b.loops = 2;
        http::client client({}, p, b);
        for (int i = 0; i != 10; ++i) client.get(peer.url()).start(count);
        EXPECT_TRUE(client.stop(10ms));
    }
    EXPECT_EQ(cancelled, 10);
}

/// A client whose later calls need another kind of connection: the first call stalls, the second
/// gets a response.
class client_moved : public ::testing::TestWithParam<bool> {};

TEST_P(client_moved, calls_leave_turns_at_the_old_place_to_others) {
    const scripted_peer peer({script().read_head().stall(),
                              script().read_head().respond("new", "Connection: close\r\n")});
    http::pool_options p;
    p.connections_per_host = 1;
    // With one connection in all, a call that kept its turn would wait for itself.
    if (GetParam()) p.connections = 1;
    http::client client({}, p);
    const auto hold = client.get(peer.url("/held")).start();
    ASSERT_TRUE(peer.wait_for_stall());
    std::expected<http::full_response, error> got;
    const auto call = client.get(peer.url("/moved")).start([&](auto r) { got = std::move(r); });
    while (client.statistics().waiting != 1) std::this_thread::yield();
    http::client_options o = client.defaults();
    o.insecure = true;  // which makes another kind of connection
    client.set_defaults(o);
    hold.cancel();
    ASSERT_TRUE(call.wait_for(10s));
    ASSERT_TRUE(got) << got.error();
    EXPECT_EQ(got->body, "new");
    EXPECT_EQ(client.statistics().waiting, 0U);
}

INSTANTIATE_TEST_SUITE_P(in_pools, client_moved, ::testing::Bool(),
                         [](const auto& with) { return with.param ? "of_one" : "of_many"; });

TEST(client_waiting_calls, take_idle_connections_at_the_new_place) {
    const gate go;
    const local_server server([go](http::request& req) -> task<http::response> {
        if (req.path() == "/held") co_await go.passed();
        co_return path_of(req);
    });
    http::pool_options p;
    p.connections_per_host = 1;
    http::client client({}, p);
    const auto hold = client.get(server.url("/held")).start();
    while (server.counters().in_flight != 1) std::this_thread::yield();
    std::expected<http::full_response, error> got;
    const auto call = client.get(server.url("/moved")).start([&](auto r) { got = std::move(r); });
    while (client.statistics().waiting != 1) std::this_thread::yield();
    http::client_options o = client.defaults();
    o.insecure = true;
    client.set_defaults(o);
    // Its connection is idle then, and the only one that there may be.
    EXPECT_EQ(client.get(server.url("/first")).wait().body, "/first");
    go.open();
    ASSERT_TRUE(call.wait_for(10s));
    ASSERT_TRUE(got) << got.error();
    EXPECT_TRUE(got->info.reused);
    hold.wait();
}

TEST_F(client_waiting, costs_little) {
    if (!counts_allocations()) GTEST_SKIP() << "allocations are not counted in this build";
    constexpr std::size_t many = 1'000;
    const std::string url = peer_.url("/a/path/of/usual/length");
    const auto loop_allocations = [own = client_.get(url).own_loop()] {
        return own->wait([]() -> task<std::size_t> { co_return allocations(); });
    };
    std::vector<background_call> calls;
    calls.reserve(many);
    const std::size_t on_loop = loop_allocations();
    const std::size_t before = allocated_bytes();
    for (std::size_t i = 0; i != many; ++i) calls.push_back(client_.get(url).start());
    const std::size_t each = (allocated_bytes() - before) / many;
    wait_until(many);
    // Promised are 512 bytes beyond what the caller gave: here a URL, and room for the fields and
    // the body that there might have been.
    EXPECT_LE(each, 512 + url.size() + 1 + sizeof(http::fields) + sizeof(http::body));
    EXPECT_LE(loop_allocations() - on_loop, many / 100) << "a call that waits has no coroutine";
    for (const auto& c : calls) c.cancel();
    for (const auto& c : calls) c.wait();
}

}  // namespace
}  // namespace coracle::testing
