// client::statistics: what is not counted by the tests of what it counts.

#include "support/client_calls.hpp"

#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;

class client_counts : public ::testing::Test {
protected:
    /// Waits until `member` is `value`: what is counted when a call has ended comes a moment later.
    template <class T>
    void wait_until(T http::client_statistics::* member, T value) const {
        while (client_.statistics().*member != value) std::this_thread::yield();
    }
    static http::pool_options two_connections() {
        http::pool_options p;
        p.connections_per_host = 2;
        return p;
    }

    http::client client_{{}, two_connections()};
};

TEST_F(client_counts, calls_under_way_and_those_of_them_that_wait) {
    const gate go;
    const scripted_peer peer(script().read_head().stall(go).respond("x").again());
    std::vector<background_call> calls;
    for (int i = 0; i != 5; ++i) calls.push_back(client_.get(peer.url()).start());
    ASSERT_TRUE(peer.wait_for_stall(0));
    ASSERT_TRUE(peer.wait_for_stall(1));
    wait_until(&http::client_statistics::waiting, std::size_t{3});
    const auto busy = client_.statistics();
    EXPECT_EQ(busy.active, 5U);
    EXPECT_EQ(busy.peak, 5U);
    EXPECT_EQ(busy.connections, 2U);
    EXPECT_EQ(busy.idle, 0U);
    EXPECT_EQ(busy.calls, 2U) << "the others have not begun";
    go.open();
    for (const auto& c : calls) c.wait();
    wait_until(&http::client_statistics::active, std::size_t{0});
    const auto quiet = client_.statistics();
    EXPECT_EQ(quiet.peak, 5U);
    EXPECT_EQ(quiet.waiting, 0U);
    EXPECT_EQ(quiet.calls, 5U);
    EXPECT_EQ(quiet.opened, 2U);
    EXPECT_EQ(quiet.reused, 3U);
    EXPECT_EQ(quiet.idle, 2U);
    // The most at a time stays what it was.
    client_.get(peer.url()).wait();
    EXPECT_EQ(client_.statistics().peak, 5U);
}

TEST_F(client_counts, callbacks_that_throw_and_goes_on) {
    const local_server server(path_of);
    const auto throwing = [](const auto&) { throw std::runtime_error("mine"); };
    for (const callback_on where : {callback_on::loop, callback_on::callback_thread}) {
        client_.get(server.url()).start(throwing, where).wait();
    }
    wait_until(&http::client_statistics::failed_callbacks, std::uint64_t{2});
    EXPECT_EQ(client_.statistics().failed, 0U);
    std::string body;
    client_.get(server.url("/x")).start([&](auto r) { body = r.value().body; }).wait();
    EXPECT_EQ(body, "/x");
    EXPECT_EQ(client_.statistics().failed_callbacks, 2U);
}

TEST_F(client_counts, failed_calls_once_with_their_retries) {
    const scripted_peer peer({script().read_head().cut(), script().read_head().cut(),
                              script().read_head().respond("good"), script().read_head().cut()});
    EXPECT_EQ(client_.get(peer.url()).retry(5, 1ms).wait().body, "good");
    EXPECT_EQ(client_.statistics().retries, 2U);
    EXPECT_EQ(client_.statistics().failed, 0U);
    EXPECT_TRUE(failure_of(client_.get(peer.url()).retry(3, 1ms)).code());
    EXPECT_EQ(client_.statistics().calls, 2U);
    EXPECT_EQ(client_.statistics().failed, 1U);
    EXPECT_EQ(client_.statistics().retries, 5U);
    // The connection of the good response was closed by the peer, and is no failure.
    EXPECT_EQ(client_.statistics().connections, 0U);
}

TEST_F(client_counts, no_retry_that_was_not_made) {
    const std::string much_later =
        "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n";
    const scripted_peer peer(script().read_head().send(much_later).again());
    EXPECT_EQ(client_.get(peer.url()).retry(2).wait().info.attempts, 1U);
    EXPECT_EQ(client_.statistics().retries, 0U);
}

/// "/3" redirects to "/2", and so on to "/0".
http::response count_down(http::request& req) {
    const char left = req.path().at(1);
    if (left == '0') return http::response("there");
    return http::redirect(std::string{'/', static_cast<char>(left - 1)}, http::status::found);
}

TEST_F(client_counts, redirects_that_were_followed) {
    const local_server server(count_down);
    EXPECT_EQ(client_.get(server.url("/3")).wait().status, http::status::found);
    EXPECT_EQ(client_.statistics().redirects, 0U);
    EXPECT_EQ(client_.get(server.url("/3")).follow(http::follow::standard).wait().body, "there");
    EXPECT_EQ(client_.statistics().redirects, 3U);
    EXPECT_EQ(failure_of(client_.get(server.url("/3")).follow(http::follow::standard, 2)),
              errc::limit_exceeded);
    const auto s = client_.statistics();
    EXPECT_EQ(s.redirects, 5U);
    EXPECT_EQ(s.calls, 3U);
    EXPECT_EQ(s.failed, 1U);
    EXPECT_EQ(s.retries, 0U);
}

}  // namespace
}  // namespace coracle::testing
