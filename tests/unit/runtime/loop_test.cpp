#include "support/virtual_time.hpp"

#include <coracle/runtime/event.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::run_virtually;

TEST(loop, is_the_current_one_while_it_runs) {
    EXPECT_EQ(loop::current(), nullptr);
    block_on([]() -> task<> {
        EXPECT_NE(loop::current(), nullptr);
        co_return;
    });
    EXPECT_EQ(loop::current(), nullptr);
    EXPECT_EQ(detail::current_pool, nullptr);
}

TEST(loop, may_run_within_another) {
    block_on([]() -> task<> {
        loop* const outer = loop::current();
        const int value = block_on([outer]() -> task<int> {
            EXPECT_NE(loop::current(), outer);
            co_await sleep_for(1ms);
            co_return 3;
        });
        EXPECT_EQ(value, 3);
        EXPECT_EQ(loop::current(), outer);
        co_await yield();
    });
}

TEST(post, runs_everything_of_four_threads_in_the_order_of_each) {
    static constexpr int count = 100'000;
    static constexpr int posters = 4;
    block_on([]() -> task<> {
        loop& l = *loop::current();
        event all;
        int left = posters * count;
        int next[posters] = {};
        bool in_order = true;
        std::vector<std::thread> threads;
        for (int t = 0; t != posters; ++t) {
            threads.emplace_back([&, t] {
                for (int i = 0; i != count; ++i) {
                    l.post([&, t, i] {
                        in_order = in_order && next[t] == i;
                        ++next[t];
                        if (--left == 0) all.set();
                    });
                }
            });
        }
        co_await all.wait();
        for (auto& t : threads) t.join();
        EXPECT_TRUE(in_order);
        for (const int n : next) EXPECT_EQ(n, count);
    });
}

TEST(post, wakes_a_loop_that_sleeps) {
    block_on([]() -> task<> {
        loop& l = *loop::current();
        for (int i = 0; i != 1000; ++i) {
            event e;
            std::thread poster;
            if (i % 100 == 0)
                poster = std::thread([&] { l.post([&] { e.set(); }); });
            else
                l.post([&] { e.set(); });
            co_await e.wait();
            if (poster.joinable()) poster.join();
        }
    });
}

TEST(post, runs_later_and_not_inside_the_call) {
    run_virtually([]() -> task<> {
        bool ran = false;
        co_await yield();  // this task itself was started by a post
        loop::current()->post([&] { ran = true; });
        EXPECT_FALSE(ran);
        co_await yield();
        EXPECT_TRUE(ran);
    });
}

TEST(post, lets_other_tasks_run_between_posts_that_post_themselves) {
    run_virtually([]() -> task<> {
        struct again {
            static void post(bool& done, int& times) {
                if (done) return;
                ++times;
                loop::current()->post([&] { post(done, times); });
            }
        };
        bool done = false;
        int times = 0;
        again::post(done, times);
        for (int i = 0; i != 10; ++i) co_await yield();
        EXPECT_GE(times, 10);
        done = true;
        co_await yield();
        co_await yield();
    });
}

TEST(post, destroys_what_is_left_when_the_loop_is_destroyed) {
    const auto token = std::make_shared<int>(1);
    {
        const logger silent;
        loop l(std::make_unique<coracle::testing::virtual_backend>(), silent);
        for (int i = 0; i != 3; ++i) l.post([token] { ADD_FAILURE() << "nobody runs this"; });
        EXPECT_EQ(token.use_count(), 4);
    }
    EXPECT_EQ(token.use_count(), 1);
}

TEST(loop, has_the_time_of_the_wall_and_random_numbers) {
    block_on([]() -> task<> {
        EXPECT_GT(loop::current()->unix_time(), 1'700'000'000);
        EXPECT_NE(loop::current()->random(), loop::current()->random());
        co_return;
    });
}

TEST(loop, reads_the_wall_clock_once_a_second_and_notices_that_it_was_set) {
    class settable_clock final : public coracle::testing::virtual_backend {
    public:
        std::int64_t wall_clock() noexcept override {
            ++reads;
            return virtual_backend::wall_clock() + ahead.count();
        }
        int reads = 0;
        duration ahead{};
    };
    auto owned = std::make_unique<settable_clock>();
    settable_clock& clock = *owned;
    coracle::testing::run_on(std::move(owned), [&clock]() -> task<> {
        loop& here = *loop::current();
        const std::int64_t first = here.unix_time();
        for (int i = 0; i != 99; ++i) {
            co_await sleep_for(5ms);
            EXPECT_EQ(here.unix_time(), first);
        }
        EXPECT_EQ(clock.reads, 1);
        clock.ahead = -10min;
        co_await sleep_for(1s);
        EXPECT_EQ(here.unix_time(), first + 1 - 600);
        EXPECT_EQ(clock.reads, 2);
    });
}

TEST(loop, holds_a_hundred_thousand_timers) {
    run_virtually([]() -> task<> {
        int fired = 0;
        for (int i = 0; i != 100'000; ++i) {
            spawn([&fired, i]() -> task<> {
                co_await sleep_for(1us * ((i * 7919LL) % 1'000'003));
                ++fired;
            });
        }
        co_await sleep_for(2s);
        EXPECT_EQ(fired, 100'000);
    });
}
