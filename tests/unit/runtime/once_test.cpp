#include "support/virtual_time.hpp"

#include <coracle/runtime/once.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

TEST(once, runs_the_work_of_the_first_while_the_others_wait) {
    run_virtually([]() -> task<> {
        once o;
        int runs = 0;
        const auto work = [&]() -> task<> {
            ++runs;
            co_await sleep_for(1s);
        };
        const auto user = [&]() -> task<> {
            co_await o.run(work);
            EXPECT_TRUE(o.done());
        };
        const time_point began = loop::current()->now();
        co_await when_all(user(), user(), user());
        co_await o.run(work);
        EXPECT_EQ(runs, 1);
        EXPECT_EQ(loop::current()->now() - began, 1s);
    });
}

TEST(once, lets_the_next_one_try_when_it_throws) {
    run_virtually([]() -> task<> {
        once o;
        int runs = 0;
        const auto work = [&]() -> task<> {
            co_await yield();
            if (++runs < 3) throw std::runtime_error("not yet");
        };
        int failures = 0;
        const auto user = [&]() -> task<> {
            try {
                co_await o.run(work);
            } catch (const std::runtime_error&) {
                ++failures;
            }
        };
        co_await when_all(user(), user(), user(), user());
        EXPECT_EQ(runs, 3);
        EXPECT_EQ(failures, 2);
        EXPECT_TRUE(o.done());
    });
}

TEST(once, lets_the_next_one_try_when_it_is_cancelled) {
    run_virtually([]() -> task<> {
        once o;
        int runs = 0;
        const auto work = [&]() -> task<> {
            ++runs;
            co_await sleep_for(2s);
        };
        const auto hurried = [&]() -> task<> {
            auto r = co_await as_result(with_timeout(1s, o.run(work)));
            EXPECT_FALSE(r);
        };
        co_await when_all(hurried(), o.run(work), hurried());
        EXPECT_EQ(runs, 2);
        EXPECT_TRUE(o.done());
    });
}

TEST(once, can_be_tried_again_when_all_have_failed) {
    run_virtually([]() -> task<> {
        once o;
        const auto hangs = []() -> task<> { co_await forever(); };
        auto r = co_await as_result(with_timeout(1s, o.run(hangs)));
        EXPECT_FALSE(r);
        EXPECT_FALSE(o.done());
        const auto works = []() -> task<> { co_return; };
        co_await o.run(works);
        EXPECT_TRUE(o.done());
    });
}

TEST(once, passes_the_turn_on_when_the_one_that_has_it_is_cancelled_before_it_goes_on) {
    run_virtually([]() -> task<> {
        once o;
        bool fail = true;
        int runs = 0;
        const auto work = [&]() -> task<> {
            ++runs;
            co_await sleep_for(1s);
            if (fail) throw std::runtime_error("first");
        };
        const auto first = [&]() -> task<> {
            try {
                co_await o.run(work);
            } catch (const std::runtime_error&) {
                fail = false;
            }
        };
        // Ends right behind `first`, which has just handed its turn to the other member.
        const auto race = [&](task<> winner) -> task<> {
            co_await when_any(std::move(winner), o.run(work));
        };
        co_await when_all(race(first()), o.run(work));
        EXPECT_EQ(runs, 2);
        EXPECT_TRUE(o.done());
    });
}
