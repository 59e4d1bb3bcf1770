#include "support/virtual_time.hpp"

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::run_virtually;

TEST(event, lets_all_go_on_that_wait_in_the_order_in_which_they_came) {
    std::string order;
    run_virtually([&]() -> task<> {
        event e;
        const auto waits = [&](char c) -> task<> {
            co_await e.wait();
            order += c;
        };
        const auto sets = [&]() -> task<> {
            co_await yield();
            e.set();
            order += '!';
        };
        co_await when_all(waits('a'), waits('b'), sets(), waits('c'));
    });
    EXPECT_EQ(order, "!abc");
}

TEST(event, that_is_set_lets_everyone_through_at_once) {
    run_virtually([]() -> task<> {
        event e;
        EXPECT_FALSE(e.is_set());
        e.set();
        e.set();
        EXPECT_TRUE(e.is_set());
        const auto turns = loop::current()->turns();
        for (int i = 0; i != 10; ++i) co_await e.wait();
        EXPECT_EQ(loop::current()->turns(), turns);
    });
}

TEST(event, that_is_set_still_lets_other_tasks_run_now_and_then) {
    run_virtually([]() -> task<> {
        event e;
        e.set();
        const auto turns = loop::current()->turns();
        for (int i = 0; i != 10'000; ++i) co_await e.wait();
        EXPECT_GT(loop::current()->turns(), turns + 100);
    });
}

TEST(event, wakes_those_that_waited_even_when_it_is_reset_at_once) {
    run_virtually([]() -> task<> {
        event e;
        bool woken = false;
        const auto waits = [&]() -> task<> {
            co_await e.wait();
            woken = true;
        };
        const auto pulses = [&]() -> task<> {
            e.set();
            e.reset();
            co_return;
        };
        co_await when_all(waits(), pulses());
        EXPECT_TRUE(woken);
        auto r = co_await as_result(with_timeout(1s, e.wait()));
        EXPECT_FALSE(r) << "it is reset";
    });
}

TEST(event, forgets_a_wait_that_was_cancelled) {
    run_virtually([]() -> task<> {
        event e;
        auto r = co_await as_result(with_timeout(1s, e.wait()));
        EXPECT_FALSE(r);
        e.set();
        co_await yield();
        co_await e.wait();
    });
}

#if !defined(NDEBUG)
TEST(event_death, comes_when_another_thread_sets_it) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    event e;
    run_virtually([&]() -> task<> {
        e.set();
        co_await e.wait();
    });
    EXPECT_DEATH(e.set(), "an event is of one loop");
}
#endif
