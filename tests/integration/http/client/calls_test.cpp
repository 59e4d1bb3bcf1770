// The end of calls: by their handle, by a client that stops or is destroyed, on several loops.

#include "support/client_calls.hpp"

#include <coracle/runtime/runtime.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>

#include <atomic>
#include <thread>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;

TEST(client_calls, are_cancelled_by_their_handle) {
    const scripted_peer peer(script().read_head().stall());
    http::client client;
    std::expected<http::full_response, error> got;
    const auto c = client.get(peer.url()).start([&](auto r) { got = std::move(r); });
    ASSERT_TRUE(peer.wait_for_stall());
    c.cancel();
    c.wait();
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error(), std::errc::operation_canceled);
    EXPECT_EQ(client.statistics().connections, 0U);
}

TEST(client_calls, under_way_are_cut_when_it_stops_and_later_ones_refused) {
    const scripted_peer peer(script().read_head().stall());
    http::client client;
    std::atomic<int> failed = 0;
    for (int i = 0; i != 5; ++i) {
        client.get(peer.url()).start([&](auto r) { failed += r ? 0 : 1; });
    }
    EXPECT_TRUE(client.stop(10ms));
    EXPECT_EQ(failed, 5);
    EXPECT_EQ(failure_of(client.get(peer.url())), errc::shutting_down);
}

TEST(client_calls, under_way_end_when_it_is_destroyed) {
    const scripted_peer peer(script().read_head().stall());
    std::atomic<int> failed = 0;
    {
        background_options b;
        b.drain = 10ms;
        http::client client({}, {}, b);
        for (int i = 0; i != 5; ++i) {
            client.get(peer.url()).start([&](auto r) { failed += r ? 0 : 1; });
        }
    }
    EXPECT_EQ(failed, 5);
}

TEST(client_calls, that_are_being_started_when_it_is_destroyed_are_refused) {
    auto client = std::make_unique<http::client>();
    const http::call c = client->get("http://127.0.0.1:1/");
    const auto own = c.own_loop();
    client.reset();
    const auto nothing = []() -> task<> { co_return; };
    try {
        own->wait(nothing);
        ADD_FAILURE() << "it was started";
    } catch (const exception& e) {
        EXPECT_EQ(e.error(), errc::shutting_down);
    }
    EXPECT_THROW(static_cast<void>(c.own_loop()), exception);
}

TEST(client_calls, are_refused_when_it_was_stopped_before_the_first) {
    const local_server server(path_of);
    http::client client;
    EXPECT_FALSE(client.stop());
    EXPECT_EQ(failure_of(client.get(server.url())), errc::shutting_down);
    EXPECT_EQ(client.statistics().calls, 0U);
}

TEST(client_calls, on_several_loops_at_once_have_connections_of_their_own) {
    const local_server server(path_of);
    http::client client;
    std::atomic<int> good = 0;
    const auto some = [&] {
        block_on([&]() -> task<> {
            for (int i = 0; i != 50; ++i) {
                auto r = co_await client.get(server.url("/x"));
                if (co_await r.text() == "/x") ++good;
            }
        });
    };
    std::thread one(some);
    std::thread two(some);
    one.join();
    two.join();
    EXPECT_EQ(good, 100);
    EXPECT_EQ(server.counters().connections, 2U);
    EXPECT_EQ(client.statistics().connections, 0U);
    EXPECT_EQ(client.get(server.url("/y")).wait().body, "/y");
}

TEST(client_calls, outlive_their_client_on_other_loops) {
    const local_server server(path_of);
    block_on([&]() -> task<> {
        auto client = std::make_unique<http::client>();
        http::call c = client->get(server.url("/x"));
        client.reset();
        EXPECT_EQ((co_await as_result(c)).error(), errc::shutting_down);
    });
}

}  // namespace
}  // namespace coracle::testing
