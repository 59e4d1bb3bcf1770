#include "support/virtual_time.hpp"

#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::run_virtually;

TEST(sleep_for, waits_for_exactly_its_time) {
    run_virtually([]() -> task<> {
        const auto before = loop::current()->now();
        co_await sleep_for(10ms);
        EXPECT_EQ(loop::current()->now() - before, 10ms);
        co_await sleep_for(24h * 365);
        EXPECT_EQ(loop::current()->now() - before, 10ms + 24h * 365);
    });
}

TEST(sleep_for, is_never_early_on_the_real_clock) {
    block_on([]() -> task<> {
        const auto before = loop::current()->now();
        co_await sleep_for(2ms);
        EXPECT_GE(loop::current()->now() - before, 2ms);
    });
}

TEST(sleep_for, completes_at_once_when_there_is_nothing_to_wait_for) {
    run_virtually([]() -> task<> {
        const auto turns = loop::current()->turns();
        co_await sleep_for(0s);
        co_await sleep_for(-1s);
        co_await sleep_until(loop::current()->now() - 1s);
        co_await sleep_until(time_point::min());
        EXPECT_EQ(loop::current()->turns(), turns);
    });
}

TEST(sleep_for, of_nothing_lets_other_tasks_run_now_and_then) {
    run_virtually([]() -> task<> {
        bool ran = false;
        const auto other = [&]() -> task<> {
            co_await yield();
            ran = true;
        };
        spawn(other);
        int rounds = 0;
        while (!ran && rounds != 10'000) {
            ++rounds;
            co_await sleep_for(0s);
        }
        EXPECT_TRUE(ran);
        EXPECT_LT(rounds, 200);
    });
}

TEST(sleep_for, wakes_in_order_of_time_and_then_of_arming) {
    std::string order;
    run_virtually([&]() -> task<> {
        const auto sleeper = [&](duration d, char c) -> task<> {
            co_await sleep_for(d);
            order += c;
        };
        co_await when_all(sleeper(30ms, 'e'), sleeper(10ms, 'a'), sleeper(20ms, 'c'),
                          sleeper(10ms, 'b'), sleeper(20ms, 'd'));
    });
    EXPECT_EQ(order, "abcde");
}

TEST(sleep_for, of_the_longest_duration_does_not_end) {
    run_virtually([]() -> task<> {
        const auto start = loop::current()->now();
        const auto longest = [] { return sleep_for(duration::max()); };
        auto r = co_await as_result(with_timeout(1s, longest));
        EXPECT_FALSE(r);
        EXPECT_EQ(loop::current()->now() - start, 1s);
    });
}

TEST(sleep_until, wakes_at_its_time) {
    run_virtually([]() -> task<> {
        const auto at = loop::current()->now() + 3s;
        co_await sleep_until(at);
        EXPECT_EQ(loop::current()->now(), at);
    });
}

TEST(sleep_until, the_end_of_time_does_not_end) {
    run_virtually([]() -> task<> {
        const auto endless = [] { return sleep_until(time_point::max()); };
        auto r = co_await as_result(with_timeout(1s, endless));
        EXPECT_FALSE(r);
    });
}

TEST(sleep_until, a_time_in_the_past_does_not_hold_up_other_timers) {
    run_virtually([]() -> task<> {
        bool fired = false;
        const auto other = [&]() -> task<> {
            co_await sleep_for(1ms);
            fired = true;
        };
        spawn(other);
        co_await sleep_for(500us);
        auto& backend = static_cast<coracle::testing::virtual_backend&>(loop::current()->backend());
        backend.lag = 10ms;
        co_await sleep_for(1us);
        for (int i = 0; !fired && i != 10'000; ++i) co_await sleep_until(time_point());
        EXPECT_TRUE(fired);
    });
}

TEST(yield, resumes_in_the_next_turn) {
    run_virtually([]() -> task<> {
        co_await yield();  // posted functions run at the beginning of a turn, and started this task
        const auto turns = loop::current()->turns();
        co_await yield();
        EXPECT_EQ(loop::current()->turns(), turns + 1);
    });
}

TEST(yield, gives_tasks_their_turns_one_after_the_other) {
    std::string order;
    run_virtually([&]() -> task<> {
        const auto steps = [&](char c) -> task<> {
            for (int i = 0; i != 3; ++i) {
                order += c;
                co_await yield();
            }
        };
        co_await when_all(steps('a'), steps('b'), steps('c'));
    });
    EXPECT_EQ(order, "abcabcabc");
}
