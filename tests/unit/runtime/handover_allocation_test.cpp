#include "support/allocation_count.hpp"
#include "support/virtual_time.hpp"

#include <coracle/runtime/broadcast.hpp>
#include <coracle/runtime/channel.hpp>
#include <coracle/runtime/futex.hpp>
#include <coracle/runtime/mutex.hpp>
#include <coracle/runtime/when_all.hpp>

#include <gtest/gtest.h>

using namespace coracle;
using coracle::testing::allocations;
using coracle::testing::run_virtually;

namespace {

constexpr int rounds = 2'000;

/// Runs two tasks side by side, and gives how often the second half of their rounds allocates.
template <class A, class B>
std::size_t in_steady_state(A& a, B& b) {
    std::size_t before = 0;
    const auto first = [&]() -> task<> {
        for (int i = 0; i != rounds; ++i) {
            if (i == rounds / 2) before = allocations();
            co_await a();
        }
        before = allocations() - before;
    };
    const auto second = [&]() -> task<> {
        for (int i = 0; i != rounds; ++i) co_await b();
    };
    run_virtually([&]() -> task<> { co_await when_all(first(), second()); });
    return before;
}

class handing_over : public ::testing::Test {
protected:
    void SetUp() override {
        if (!coracle::testing::counts_allocations())
            GTEST_SKIP() << "the pools stand aside in this build";
    }
};

}  // namespace

TEST_F(handing_over, by_a_channel_allocates_nothing) {
    channel<int> c(1);
    const auto sends = [&]() -> task<> { co_await c.send(1); };
    const auto receives = [&]() -> task<> { co_await c.receive(); };
    EXPECT_EQ(in_steady_state(sends, receives), 0U);
}

TEST_F(handing_over, by_a_broadcast_allocates_nothing) {
    broadcast<int> b(1, slow_reader::wait);
    auto reader = b.subscribe();
    const auto sends = [&]() -> task<> { co_await b.send(1); };
    const auto receives = [&]() -> task<> { co_await reader.receive(); };
    EXPECT_EQ(in_steady_state(sends, receives), 0U);
}

TEST_F(handing_over, a_mutex_allocates_nothing) {
    mutex<> m;
    const auto holds = [&]() -> task<> {
        auto guard = co_await m.lock();
        co_await yield();
    };
    EXPECT_EQ(in_steady_state(holds, holds), 0U);
}

TEST_F(handing_over, by_a_futex_allocates_nothing) {
    futex f;
    const auto turn = [&](std::uint32_t mine) -> task<> {
        while (f.word.load() != mine) co_await f.wait(1 - mine);
        f.word.store(1 - mine);
        f.wake_all();
    };
    const auto even = [&] { return turn(0); };
    const auto odd = [&] { return turn(1); };
    EXPECT_EQ(in_steady_state(even, odd), 0U);
}
