#include "support/virtual_time.hpp"

#include <coracle/runtime/futex.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

TEST(futex, does_not_wait_when_the_word_has_changed) {
    run_virtually([]() -> task<> {
        futex f(1);
        co_await f.wait(0);
        EXPECT_TRUE(f.wake() == 0);
    });
}

TEST(futex, wakes_as_many_as_it_is_told_the_longest_waiting_first) {
    run_virtually([]() -> task<> {
        futex f;
        std::string woken;
        const auto waits = [&](char name) -> task<> {
            co_await f.wait(0);
            woken += name;
        };
        const auto wakes = [&]() -> task<> {
            EXPECT_EQ(f.wake(2), 2U);
            co_await yield();
            EXPECT_EQ(woken, "ab");
            EXPECT_EQ(f.wake_all(), 1U);
            EXPECT_EQ(f.wake_all(), 0U);
        };
        co_await when_all(waits('a'), waits('b'), waits('c'), wakes());
        EXPECT_EQ(woken, "abc");
    });
}

TEST(futex, forgets_a_wait_that_was_cancelled) {
    run_virtually([]() -> task<> {
        futex f;
        auto r = co_await as_result(with_timeout(1s, f.wait(0)));
        EXPECT_FALSE(r);
        EXPECT_EQ(f.wake_all(), 0U);
    });
}

TEST(futex, passes_a_wake_on_when_the_one_that_it_reached_is_cancelled) {
    run_virtually([]() -> task<> {
        futex f;
        bool second = false;
        const auto other = [&]() -> task<> {
            co_await f.wait(0);
            second = true;
        };
        const auto wakes = [&]() -> task<> {
            co_await yield();
            EXPECT_EQ(f.wake(), 1U);
        };
        const auto race = [&]() -> task<> {
            auto r = co_await when_any(f.wait(0), wakes());
            EXPECT_EQ(r.index, 1U);
        };
        co_await when_all(race(), other());
        EXPECT_TRUE(second);
    });
}
