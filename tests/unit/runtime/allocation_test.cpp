#include "support/allocation_count.hpp"
#include "support/virtual_time.hpp"

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::allocations;
using coracle::testing::run_virtually;

namespace {

/// Runs `step` some times to warm up, and gives how often another thousand times allocate.
template <class F>
std::size_t in_steady_state(F step) {
    return run_virtually([&]() -> task<std::size_t> {
        for (int i = 0; i != 10; ++i) co_await step();
        const std::size_t before = allocations();
        for (int i = 0; i != 1000; ++i) co_await step();
        co_return allocations() - before;
    });
}

class steady_state : public ::testing::Test {
protected:
    void SetUp() override {
        if (!coracle::testing::counts_allocations())
            GTEST_SKIP() << "the pools stand aside in this build";
        const std::size_t before = allocations();
        ::operator delete(::operator new(1));
        ASSERT_EQ(allocations(), before + 1) << "the counter counts";
    }
};

task<int> give(int n) {
    co_return n;
}

}  // namespace

TEST_F(steady_state, of_tasks_allocates_nothing) {
    const auto step = []() -> task<> {
        const int n = co_await give(1) + co_await give(2);
        static_cast<void>(n);
    };
    EXPECT_EQ(in_steady_state(step), 0u);
}

TEST_F(steady_state, of_sleeping_and_yielding_allocates_nothing) {
    const auto step = []() -> task<> {
        co_await sleep_for(1ms);
        co_await yield();
    };
    EXPECT_EQ(in_steady_state(step), 0u);
}

TEST_F(steady_state, of_spawning_allocates_nothing) {
    const auto step = []() -> task<> {
        spawn([]() -> task<> { co_await yield(); });
        co_await sleep_for(1ms);
    };
    EXPECT_EQ(in_steady_state(step), 0u);
}

TEST_F(steady_state, of_timeouts_and_groups_of_tasks_allocates_nothing) {
    const auto step = []() -> task<> {
        co_await with_timeout(1s, give(1));
        co_await when_all(give(1), sleep_for(1ms));
    };
    EXPECT_EQ(in_steady_state(step), 0u);
}

TEST_F(steady_state, of_a_cancelled_wait_allocates_nothing) {
    const auto step = []() -> task<> {
        auto r = co_await as_result(with_timeout(1ms, forever()));
        EXPECT_FALSE(r);
    };
    EXPECT_EQ(in_steady_state(step), 0u);
}

TEST_F(steady_state, of_deadlines_allocates_nothing) {
    const auto step = []() -> task<> {
        struct silent final : deadline {
            using deadline::deadline;
            void expired() noexcept override {}
        } d(*loop::current());
        d.arm_in(1s);
        co_await sleep_for(500ms);
        d.arm_in(2s);
    };
    EXPECT_EQ(in_steady_state(step), 0u);
}
