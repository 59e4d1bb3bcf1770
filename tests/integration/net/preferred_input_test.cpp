// byte_stream::prefer_input: a receive that waits for more than the first byte.

#include "support/connected.hpp"

#include <coracle/runtime/sleep.hpp>

#include <gtest/gtest.h>

using namespace coracle;
using namespace coracle::testing;

namespace {

// Larger than what io_uring receives into buffers of its own.
constexpr std::size_t room = 64 * 1024;

task<> some_turns() {
    for (int i = 0; i != 50; ++i) co_await yield();
}

/// How much a receive that prefers 100 bytes gives when 10 come, some turns pass, and then `more()`
/// is done.
template <class F>
task<std::size_t> received(connection_pair& both, const F& more) {
    both.server->prefer_input(100);
    const auto send = [&]() -> task<> {
        co_await both.client->send(std::string(10, 'a'));
        co_await some_turns();
        co_await more();
    };
    auto [got, sent] = co_await when_all(both.server->receive(room), send());
    co_return got.size();
}

}  // namespace

TEST(preferred_input, is_waited_for) {
    const auto f = []() -> task<> {
        auto both = co_await connected();
        const auto more = [&]() -> task<> { co_await both.client->send(std::string(90, 'b')); };
        const std::size_t size = co_await received(both, more);
        EXPECT_EQ(size, 100u);
    };
    block_on(f);
}

TEST(preferred_input, taken_back_gives_what_is_there) {
    const auto f = []() -> task<> {
        auto both = co_await connected();
        const auto more = [&]() -> task<> {
            both.server->prefer_input(1);
            co_return;
        };
        const std::size_t size = co_await received(both, more);
        EXPECT_EQ(size, 10u);
    };
    block_on(f);
}

TEST(preferred_input, does_not_hold_back_the_end) {
    const auto f = []() -> task<> {
        auto both = co_await connected();
        const auto more = [&]() -> task<> {
            both.client->shutdown_output();
            co_return;
        };
        const std::size_t size = co_await received(both, more);
        EXPECT_EQ(size, 10u);
        const auto end = co_await as_result(both.server->receive(room));
        EXPECT_FALSE(end);
    };
    block_on(f);
}
