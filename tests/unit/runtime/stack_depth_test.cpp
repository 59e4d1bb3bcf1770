// Neither long loops over tasks that never wait, nor long chains of tasks, use up the stack,
// whatever the compiler makes of a jump from one coroutine to the next.

#include "support/virtual_time.hpp"

#include <coracle/runtime/async_generator.hpp>
#include <coracle/runtime/detail/stack_depth.hpp>
#include <coracle/runtime/this_task.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::run_virtually;

namespace {

constexpr int many = 200'000;

task<int> ready(int n) {
    co_return n;
}

operation<int> ready_operation(int n) {
    return [](int of) -> task<std::expected<int, error>> { co_return of; }(n);
}

async_generator<int> counter(int n) {
    for (int i = 0; i != n; ++i) co_yield i;
}

/// Counts those that are alive, and checks that the last one goes first.
struct alive {
    alive(int& all, int mine) : all_(all), mine_(mine) { ++all_; }
    alive(const alive&) = delete;
    ~alive() {
        --all_;
        EXPECT_EQ(all_, mine_);
    }
    int& all_;
    int mine_;
};

task<> chain(int& all, int left) {
    const alive a(all, all);
    if (left == 0) {
        co_await forever();
    } else {
        co_await chain(all, left - 1);
    }
}

operation<> chain_of_operations(int& all, int left);

task<std::expected<void, error>> link_of(int& all, int left) {
    const alive a(all, all);
    if (left == 0) {
        co_await forever();
    } else {
        co_await chain_of_operations(all, left - 1);
    }
    co_return {};
}

operation<> chain_of_operations(int& all, int left) {
    return link_of(all, left);
}

task<> limits(int& all, int left) {
    const alive a(all, all);
    if (left == 0) {
        // The nearest of all that stand around it is the outermost.
        EXPECT_LE(co_await this_task::deadline(), loop::current()->now() + 1h);
        co_await forever();
    } else {
        const auto inner = [&] { return limits(all, left - 1); };
        co_await with_timeout(2h, inner);
    }
}

task<int> limited_sum(int n) {
    if (n == 0) co_return 0;
    const auto inner = [&] { return limited_sum(n - 1); };
    const int rest = co_await with_timeout(2h, inner);
    co_return rest + 1;
}

task<int> sum(int n) {
    if (n == 0) co_return 0;
    const int rest = co_await sum(n - 1);
    co_return rest + 1;
}

}  // namespace

TEST(stack_depth, is_not_that_of_a_loop_over_tasks) {
    run_virtually([]() -> task<> {
        long total = 0;
        for (int i = 0; i != 5 * many; ++i) total += co_await ready(1);
        EXPECT_EQ(total, 5 * many);
    });
}

TEST(stack_depth, is_not_that_of_a_loop_over_operations_and_results) {
    run_virtually([]() -> task<> {
        long total = 0;
        for (int i = 0; i != many; ++i) {
            total += co_await ready_operation(1);
            const auto r = co_await as_result(ready(1));
            total += *r;
        }
        EXPECT_EQ(total, 2 * many);
    });
}

TEST(stack_depth, is_not_that_of_a_loop_over_steps) {
    run_virtually([]() -> task<> {
        auto numbers = counter(many);
        int n = 0;
        while (co_await numbers.next()) ++n;
        EXPECT_EQ(n, many);
    });
}

TEST(stack_depth, is_not_that_of_a_loop_over_crews) {
    run_virtually([]() -> task<> {
        long total = 0;
        for (int i = 0; i != many / 10; ++i) {
            const auto [a, b] = co_await when_all(ready(1), ready(2));
            const auto first = co_await when_any(ready(3), ready(4));
            const auto in_time = co_await with_timeout(1h, ready(5));
            total += a + b + first.value + in_time;
        }
        EXPECT_EQ(total, 11L * (many / 10));
    });
}

TEST(stack_depth, is_not_that_of_a_chain_of_tasks) {
    EXPECT_EQ(run_virtually([] { return sum(many); }), many);
}

TEST(stack_depth, is_not_that_of_a_chain_that_is_cancelled) {
    run_virtually([]() -> task<> {
        int all = 0;
        const auto deep = [&] { return chain(all, many); };
        const auto r = co_await as_result(with_timeout(1ms, deep));
        EXPECT_FALSE(r);
        EXPECT_EQ(all, 0);
    });
}

TEST(stack_depth, is_not_that_of_a_chain_of_operations_that_is_cancelled) {
    run_virtually([]() -> task<> {
        int all = 0;
        const auto deep = [&] { return chain_of_operations(all, many / 10); };
        const auto r = co_await as_result(with_timeout(1ms, deep));
        EXPECT_FALSE(r);
        EXPECT_EQ(all, 0);
    });
}

TEST(stack_depth, is_not_that_of_limits_within_limits_that_are_cancelled) {
    run_virtually([]() -> task<> {
        int all = 0;
        const auto deep = [&] { return limits(all, many); };
        const auto r = co_await as_result(with_timeout(1h, deep));
        EXPECT_FALSE(r);
        EXPECT_EQ(r.error(), std::errc::timed_out);
        EXPECT_EQ(all, 0);
    });
}

TEST(stack_depth, is_not_that_of_limits_within_limits_that_end) {
    EXPECT_EQ(run_virtually([] { return limited_sum(many); }), many);
}

#if !defined(__clang__)
TEST(stack_depth, goes_through_the_loop_beyond_a_limit) {
    run_virtually([]() -> task<> {
        // This coroutine was posted, and tasks that it makes ready run in the same turn.
        co_await yield();
        const std::uintptr_t before = detail::stack_floor;
        EXPECT_NE(before, 0u);
        detail::stack_floor = detail::stack_position() + 1;
        const auto turn = loop::current()->turns();
        EXPECT_EQ(co_await ready(1), 1);
        EXPECT_EQ(loop::current()->turns(), turn + 1);
        detail::stack_floor = before;
        EXPECT_EQ(co_await ready(2), 2);
        EXPECT_EQ(loop::current()->turns(), turn + 1);
    });
    EXPECT_EQ(detail::stack_floor, 0u);
}
#endif
