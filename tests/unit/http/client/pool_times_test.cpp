// How long a client keeps its connections, in virtual time.

#include <coracle/http/client.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/scripted_peer.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

scripted_peer_options patient() {
    scripted_peer_options o;
    o.limit = 48h;
    return o;
}

/// A client of a server that keeps all its connections. Deadlines fire up to 1/16 of their time
/// late.
class client_connections_in_time : public ::testing::Test {
protected:
    /// Runs a test for a client with these times.
    template <class F>
    void with(duration idle_time, duration lifetime, const script& responses, F test) {
        sim_.run([&]() -> task<> {
            const scripted_peer peer(sim_.loop(), responses, patient());
            http::client_options o;
            o.proxy_from_environment = false;
            o.first_byte_timeout = 0s;
            http::pool_options p;
            p.idle_time = idle_time;
            p.lifetime = lifetime;
            http::client client(o, p);
            peer_ = &peer;
            client_ = &client;
            co_await test();
        });
        EXPECT_EQ(sim_.backend().open_descriptors(), 0u);
    }
    static script responds_at_once() { return script().read_head().respond("x").again(); }

    /// Gives true if the call was made on a connection that had been used before.
    task<bool> reuses() {
        http::call c = client_->get(peer_->url());
        auto asking = c.full();
        const http::full_response r = co_await asking;
        EXPECT_EQ(r.body, "x");
        co_return r.info.reused;
    }
    std::size_t open() const { return client_->statistics().connections; }

    simulation sim_{1};
    const scripted_peer* peer_ = nullptr;
    http::client* client_ = nullptr;
};

}  // namespace

TEST_F(client_connections_in_time, are_closed_when_they_have_been_idle_for_so_long) {
    with(60s, 0s, responds_at_once(), [this]() -> task<> {
        EXPECT_FALSE(co_await reuses());
        co_await sleep_for(59s);
        EXPECT_EQ(open(), 1u);
        EXPECT_FALSE(peer_->record().closed);
        co_await sleep_for(6s);
        EXPECT_EQ(open(), 0u);
        EXPECT_EQ(client_->statistics().idle, 0u);
        EXPECT_TRUE(peer_->record().closed);
        EXPECT_EQ(peer_->record().peer_ended, ending::finished);
        EXPECT_FALSE(co_await reuses());
        EXPECT_EQ(peer_->connections(), 2u);
    });
}

TEST_F(client_connections_in_time, are_idle_from_their_last_response_on) {
    with(60s, 0s, responds_at_once(), [this]() -> task<> {
        EXPECT_FALSE(co_await reuses());
        for (int i = 0; i != 10; ++i) {
            co_await sleep_for(50s);
            EXPECT_TRUE(co_await reuses()) << i;
        }
        EXPECT_EQ(peer_->connections(), 1u);
    });
}

TEST_F(client_connections_in_time, are_not_idle_while_they_wait_for_a_response) {
    const auto late = script().read_head().pause(10min).respond("x").again();
    with(60s, 0s, late, [this]() -> task<> {
        EXPECT_FALSE(co_await reuses());
        EXPECT_TRUE(co_await reuses());
    });
}

TEST_F(client_connections_in_time, take_no_request_once_they_are_too_old) {
    with(1h, 60s, responds_at_once(), [this]() -> task<> {
        EXPECT_FALSE(co_await reuses());
        co_await sleep_for(59s);
        EXPECT_TRUE(co_await reuses());
        co_await sleep_for(2s);
        EXPECT_FALSE(co_await reuses());
        EXPECT_EQ(open(), 1u) << "the old one is closed";
        EXPECT_EQ(peer_->connections(), 2u);
        // The new one has an age of its own.
        co_await sleep_for(59s);
        EXPECT_TRUE(co_await reuses());
    });
}

TEST_F(client_connections_in_time, are_not_kept_when_they_come_back_too_old) {
    const auto late = script().read_head().pause(2min).respond("x").again();
    with(1h, 60s, late, [this]() -> task<> {
        EXPECT_FALSE(co_await reuses());
        EXPECT_EQ(open(), 0u);
        EXPECT_FALSE(co_await reuses());
        EXPECT_EQ(peer_->connections(), 2u);
    });
}

TEST_F(client_connections_in_time, may_have_any_age_by_default) {
    with(48h, 0s, responds_at_once(), [this]() -> task<> {
        EXPECT_FALSE(co_await reuses());
        co_await sleep_for(24h);
        EXPECT_TRUE(co_await reuses());
    });
}
