#include "support/virtual_time.hpp"

#include <coracle/runtime/this_task.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::run_virtually;

TEST(this_task, knows_whether_it_was_asked_to_stop) {
    run_virtually([]() -> task<> {
        EXPECT_FALSE(co_await this_task::stopped());
        bool seen = false;
        const auto loops = [&]() -> task<> {
            while (!co_await this_task::stopped()) co_await as_result(sleep_for(1s));
            seen = true;
        };
        auto r = co_await as_result(with_timeout(2500ms, loops));
        EXPECT_TRUE(r) << "it returned";
        EXPECT_TRUE(seen);
        EXPECT_FALSE(co_await this_task::stopped());
    });
}

TEST(this_task, has_a_name_that_it_may_change) {
    run_virtually([]() -> task<> {
        spawn(
            []() -> task<> {
                EXPECT_STREQ(co_await this_task::name(), "mailer");
                co_await this_task::set_name("mailer, sending");
                const auto below = []() -> task<> {
                    EXPECT_STREQ(co_await this_task::name(), "mailer, sending");
                    co_return;
                };
                co_await below();
            },
            "mailer");
        co_return;
    });
}

TEST(this_task, is_asked_without_a_turn_of_the_loop) {
    run_virtually([]() -> task<> {
        const auto turn = loop::current()->turns();
        for (int i = 0; i != 1000; ++i) {
            co_await this_task::stopped();
            co_await this_task::deadline();
        }
        EXPECT_EQ(loop::current()->turns(), turn);
        co_await this_task::yield();
        EXPECT_EQ(loop::current()->turns(), turn + 1);
    });
}

TEST(yield, goes_on_in_the_next_turn_also_from_a_posted_function) {
    run_virtually([]() -> task<> {
        std::uint64_t before = 0;
        std::uint64_t after = 0;
        loop::current()->post([&] {
            spawn([&]() -> task<> {
                before = loop::current()->turns();
                co_await yield();
                after = loop::current()->turns();
            });
        });
        for (int i = 0; i != 4; ++i) co_await yield();
        EXPECT_NE(before, 0u);
        EXPECT_EQ(after, before + 1);
    });
}

TEST(yield, goes_on_in_the_next_turn_when_a_timer_woke_the_task) {
    run_virtually([]() -> task<> {
        co_await sleep_for(1ms);
        const auto turn = loop::current()->turns();
        co_await yield();
        EXPECT_EQ(loop::current()->turns(), turn + 1);
    });
}

TEST(a_cancelled_task, that_ignores_it_still_lets_the_others_run) {
    coracle::testing::simulation world;
    world.run([]() -> task<> {
        int spins = 0;
        bool enough = false;
        bool ended = false;
        spawn([&]() -> task<> {
            const auto stubborn = [&]() -> task<> {
                while (!enough) {
                    co_await as_result(forever());
                    ++spins;
                }
            };
            co_await as_result(with_timeout(1ms, stubborn));
            ended = true;
        });
        co_await sleep_for(2ms);
        const int before = spins;
        for (int i = 0; i != 100; ++i) co_await yield();
        EXPECT_GE(spins - before, 98);
        EXPECT_LE(spins - before, 102) << "once a turn";
        co_await sleep_for(1ms);  // timers fire beside it too
        enough = true;
        co_await yield();
        co_await yield();
        EXPECT_TRUE(ended);
    });
}
