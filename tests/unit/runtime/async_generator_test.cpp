#include "support/trace.hpp"
#include "support/virtual_time.hpp"

#include <coracle/runtime/async_generator.hpp>
#include <coracle/runtime/this_task.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::run_virtually;
using coracle::testing::trace;

namespace {

async_generator<int> count_to(int n, duration pause = 1ms) {
    for (int i = 1; i <= n; ++i) {
        co_await sleep_for(pause);
        co_yield i;
    }
}

async_generator<std::string> traced(std::string& log) {
    const trace t(log, "generator");
    co_yield "first";
    co_await forever();
    log += "went on";
}

}  // namespace

TEST(async_generator, gives_element_after_element_and_then_nothing) {
    run_virtually([]() -> task<> {
        const auto start = loop::current()->now();
        auto numbers = count_to(3);
        int sum = 0;
        while (auto n = co_await numbers.next()) sum = sum * 10 + *n;
        EXPECT_EQ(sum, 123);
        EXPECT_EQ(loop::current()->now() - start, 3ms);
        EXPECT_FALSE(co_await numbers.next());
        async_generator<int> none;
        EXPECT_FALSE(co_await none.next());
    });
}

TEST(async_generator, needs_no_loop_turn_when_it_does_not_wait) {
    run_virtually([]() -> task<> {
        const auto make = [](int n) -> async_generator<int> {
            for (int i = 0; i != n; ++i) co_yield i;
        };
        const auto turn = loop::current()->turns();
        auto g = make(100'000);
        int count = 0;
        while (co_await g.next()) ++count;
        EXPECT_EQ(count, 100'000);
        EXPECT_EQ(loop::current()->turns(), turn);
    });
}

TEST(async_generator, moves_its_elements) {
    run_virtually([]() -> task<> {
        const auto make = []() -> async_generator<std::unique_ptr<int>> {
            auto p = std::make_unique<int>(4);
            co_yield std::move(p);
        };
        auto g = make();
        auto first = co_await g.next();
        EXPECT_EQ(**first, 4);
    });
}

TEST(async_generator, throws_what_its_coroutine_throws_and_has_ended) {
    run_virtually([]() -> task<> {
        const auto make = []() -> async_generator<int> {
            co_yield 1;
            co_await yield();
            throw std::runtime_error("second");
        };
        auto g = make();
        co_await g.next();
        bool caught = false;
        try {
            co_await g.next();
        } catch (const std::runtime_error&) {
            caught = true;
        }
        EXPECT_TRUE(caught);
        EXPECT_FALSE(co_await g.next());
    });
}

TEST(async_generator, as_a_result_gives_its_error) {
    run_virtually([]() -> task<> {
        const auto make = []() -> async_generator<int> {
            co_yield 1;
            throw_exception(error(std::errc::broken_pipe, "generator"));
        };
        auto g = make();
        auto first = co_await as_result(g.next());
        EXPECT_EQ(first.value(), 1);
        auto second = co_await as_result(g.next());
        EXPECT_FALSE(second);
        EXPECT_TRUE(second.error() == std::errc::broken_pipe);
        auto third = co_await as_result(g.next());
        EXPECT_TRUE(third && !*third);
    });
}

TEST(async_generator, dropped_between_two_steps_destroys_its_frame) {
    std::string log;
    run_virtually([&]() -> task<> {
        {
            auto g = traced(log);
            auto moved = std::move(g);
            EXPECT_EQ(co_await moved.next(), "first");
            EXPECT_EQ(log, "");
        }
        EXPECT_EQ(log, "generator");
    });
}

TEST(async_generator, never_begun_runs_nothing) {
    std::string log;
    {
        auto g = traced(log);
    }
    EXPECT_EQ(log, "");
}

TEST(async_generator, is_cancelled_with_its_consumer_innermost_first) {
    std::string log;
    run_virtually([&]() -> task<> {
        const auto consumer = [&]() -> task<> {
            const trace t(log, "consumer");
            auto g = traced(log);
            while (co_await g.next()) {
            }
            log += "went on";
        };
        auto r = co_await as_result(with_timeout(1ms, consumer));
        EXPECT_FALSE(r);
    });
    EXPECT_EQ(log, "generator consumer");
}

TEST(async_generator, that_outlives_its_cancelled_consumer_has_ended) {
    std::string log;
    run_virtually([&]() -> task<> {
        auto g = traced(log);
        co_await g.next();
        const auto step = [&]() -> task<> { co_await g.next(); };
        auto r = co_await as_result(with_timeout(1ms, step));
        EXPECT_TRUE(r.error() == std::errc::timed_out);
        EXPECT_EQ(log, "generator");
        EXPECT_FALSE(co_await g.next());
    });
}

TEST(async_generator, cancelled_as_a_result_tells_so) {
    std::string log;
    run_virtually([&]() -> task<> {
        auto g = traced(log);
        co_await g.next();
        const auto step = [&]() -> task<> {
            auto r = co_await as_result(g.next());
            EXPECT_FALSE(r);
            EXPECT_TRUE(r.error() == std::errc::operation_canceled);
            EXPECT_EQ(log, "generator");
            log += " told";
        };
        co_await as_result(with_timeout(1ms, step));
        EXPECT_EQ(log, "generator told");
    });
}

TEST(async_generator, may_go_on_when_it_takes_its_cancellation_as_a_result) {
    run_virtually([]() -> task<> {
        const auto make = []() -> async_generator<int> {
            auto r = co_await as_result(forever());
            co_yield r ? 1 : 2;
            co_yield 3;
        };
        auto g = make();
        const auto step = [&]() -> task<int> { co_return *(co_await g.next()); };
        EXPECT_EQ(co_await with_timeout(1ms, step), 2);
        EXPECT_EQ(co_await g.next(), 3);
    });
}

TEST(async_generator, runs_under_the_deadline_of_the_step) {
    run_virtually([]() -> task<> {
        const auto make = []() -> async_generator<time_point> {
            co_yield co_await this_task::deadline();
            co_yield co_await this_task::deadline();
        };
        auto g = make();
        EXPECT_EQ(co_await g.next(), time_point::max());
        const auto due = loop::current()->now() + 1s;
        const auto step = [&]() -> task<> { EXPECT_EQ(co_await g.next(), due); };
        co_await with_deadline(due, step);
    });
}

TEST(async_generator, may_be_made_of_another) {
    run_virtually([]() -> task<> {
        const auto doubled = [](async_generator<int> inner) -> async_generator<int> {
            while (auto n = co_await inner.next()) co_yield 2 * *n;
        };
        auto g = doubled(count_to(3));
        int sum = 0;
        while (auto n = co_await g.next()) sum += *n;
        EXPECT_EQ(sum, 12);
    });
}
