#include "support/virtual_time.hpp"

#include <coracle/runtime/mutex.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

task<> append(mutex<std::string>& m, char letter, duration held) {
    auto guard = co_await m.lock();
    guard->push_back(letter);
    co_await sleep_for(held);
    guard->push_back(letter);
}

}  // namespace

TEST(mutex, lets_one_task_at_a_time_in_across_its_waits_first_come_first_served) {
    run_virtually([]() -> task<> {
        mutex<std::string> m;
        co_await when_all(append(m, 'a', 2s), append(m, 'b', 1s), append(m, 'c', 0s));
        const auto guard = co_await m.lock();
        EXPECT_EQ(*guard, "aabbcc");
    });
}

TEST(mutex, gives_a_guard_without_waiting_only_when_nobody_holds_it) {
    run_virtually([]() -> task<> {
        mutex<int> m(7);
        auto first = m.try_lock();
        EXPECT_TRUE(first.has_value());
        EXPECT_EQ(**first, 7);
        EXPECT_TRUE(m.locked());
        EXPECT_FALSE(m.try_lock().has_value());
        first->unlock();
        EXPECT_FALSE(*first);
        EXPECT_FALSE(m.locked());
        EXPECT_TRUE(m.try_lock().has_value());
        co_return;
    });
}

TEST(mutex, does_not_let_a_latecomer_overtake_one_to_whom_it_was_handed) {
    run_virtually([]() -> task<> {
        mutex<> m;
        auto guard = m.try_lock();
        const auto waits = [&]() -> task<> { auto mine = co_await m.lock(); };
        const auto meddles = [&]() -> task<> {
            guard->unlock();
            EXPECT_FALSE(m.try_lock().has_value()) << "the first task has it already";
            co_return;
        };
        co_await when_all(waits(), meddles());
        EXPECT_FALSE(m.locked());
    });
}

TEST(mutex, forgets_a_wait_that_was_cancelled) {
    run_virtually([]() -> task<> {
        mutex<> m;
        auto guard = m.try_lock();
        auto r = co_await as_result(with_timeout(1s, m.lock()));
        EXPECT_FALSE(r);
        guard->unlock();
        EXPECT_FALSE(m.locked());
    });
}

TEST(mutex, passes_the_lock_on_when_its_new_holder_is_cancelled_before_it_goes_on) {
    run_virtually([]() -> task<> {
        mutex<> m;
        auto guard = m.try_lock();
        bool second = false;
        const auto hands_over = [&]() -> task<> {
            co_await yield();
            guard->unlock();  // wins, so the first waiter is cancelled before it goes on
        };
        const auto waits = [&]() -> task<> {
            auto mine = co_await m.lock();
            second = true;
        };
        const auto race = [&]() -> task<> {
            auto r = co_await when_any(m.lock(), hands_over());
            EXPECT_EQ(r.index, 1U);
        };
        co_await when_all(race(), waits());
        EXPECT_TRUE(second);
        EXPECT_FALSE(m.locked());
    });
}

TEST(mutex, that_is_free_still_lets_other_tasks_run_now_and_then) {
    run_virtually([]() -> task<> {
        mutex<> m;
        const auto turns = loop::current()->turns();
        for (int i = 0; i != 10'000; ++i) auto guard = co_await m.lock();
        EXPECT_GT(loop::current()->turns(), turns + 100);
        EXPECT_FALSE(m.locked());
    });
}

TEST(mutex, is_unlocked_when_the_task_that_holds_it_is_stopped) {
    run_virtually([]() -> task<> {
        mutex<> m;
        const auto holds = [&]() -> task<> {
            auto guard = co_await m.lock();
            co_await forever();
        };
        auto r = co_await as_result(with_timeout(1s, holds));
        EXPECT_FALSE(r);
        EXPECT_FALSE(m.locked());
    });
}
