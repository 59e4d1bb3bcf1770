#include "support/virtual_time.hpp"

#include <coracle/runtime/ticker.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <vector>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::run_virtually;

TEST(ticker, ticks_at_fixed_points_in_time) {
    run_virtually([]() -> task<> {
        const auto start = loop::current()->now();
        auto t = every(10ms);
        EXPECT_EQ(t.period(), 10ms);
        for (int i = 1; i <= 5; ++i) {
            EXPECT_EQ(t.due(), start + 10ms * i);
            EXPECT_EQ(co_await t.next(), 1u);
            EXPECT_EQ(loop::current()->now(), start + 10ms * i);
            co_await sleep_for(3ms);  // work does not move the next tick
        }
    });
}

TEST(ticker, tells_how_many_ticks_were_missed_and_skips_them) {
    run_virtually([]() -> task<> {
        const auto start = loop::current()->now();
        auto t = every(10ms);
        co_await sleep_for(35ms);
        EXPECT_EQ(co_await t.next(), 3u);
        EXPECT_EQ(loop::current()->now(), start + 35ms) << "at once";
        EXPECT_EQ(co_await t.next(), 1u);
        EXPECT_EQ(loop::current()->now(), start + 40ms) << "no drift";
    });
}

TEST(ticker, does_not_drift_on_a_busy_machine) {
    const logger silent;
    auto backend = std::make_unique<coracle::testing::virtual_backend>();
    backend->lag = 3ms;
    loop l(std::move(backend), silent);
    bool done = false;
    detail::blocking_child<void> main(done);
    const auto work = []() -> task<> {
        const auto start = loop::current()->now();
        auto t = every(10ms);
        for (int i = 1; i <= 1000; ++i) {
            EXPECT_EQ(co_await t.next(), 1u);
            EXPECT_EQ(loop::current()->now(), start + 10ms * i + 3ms);
        }
    };
    l.post([&] { main.begin(work(), l, &l.root(), "test").resume(); });
    l.run_until(done);
    detail::value_of(main, "test");
}

TEST(ticker, loses_no_tick_to_a_cancelled_wait) {
    run_virtually([]() -> task<> {
        const auto start = loop::current()->now();
        auto t = every(10ms);
        auto r = co_await as_result(with_timeout(4ms, t.next()));
        EXPECT_FALSE(r);
        EXPECT_EQ(co_await t.next(), 1u);
        EXPECT_EQ(loop::current()->now(), start + 10ms);
    });
}

TEST(ticker, of_no_period_lets_others_run) {
    run_virtually([]() -> task<> {
        auto t = every(0s);
        bool other = false;
        spawn([&]() -> task<> {
            co_await sleep_for(1us);
            other = true;
        });
        while (!other) EXPECT_GE(co_await t.next(), 1u);
    });
}
