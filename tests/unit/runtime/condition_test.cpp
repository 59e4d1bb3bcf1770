#include "support/virtual_time.hpp"

#include <coracle/runtime/condition.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

TEST(condition, wakes_those_whose_mask_meets_and_tells_the_bits) {
    run_virtually([]() -> task<> {
        condition c;
        std::string woken;
        const auto waits = [&](std::uint64_t mask, std::uint64_t meets, char name) -> task<> {
            EXPECT_EQ(co_await c.wait(mask), meets);
            woken += name;
        };
        const auto notifies = [&]() -> task<> {
            EXPECT_EQ(c.notify_all(8), 0U);
            EXPECT_EQ(c.notify_all(2), 2U);
            co_await yield();
            EXPECT_EQ(woken, "bc");
            EXPECT_EQ(c.notify_all(), 1U);
        };
        co_await when_all(waits(1, 1, 'a'), waits(2, 2, 'b'), waits(6, 2, 'c'), notifies());
        EXPECT_EQ(woken, "bca");
    });
}

TEST(condition, wakes_one_the_longest_waiting_of_those_that_it_meets) {
    run_virtually([]() -> task<> {
        condition c;
        std::string woken;
        const auto waits = [&](std::uint64_t mask, char name) -> task<> {
            co_await c.wait(mask);
            woken += name;
        };
        const auto notifies = [&]() -> task<> {
            EXPECT_TRUE(c.notify_one(2));
            EXPECT_TRUE(c.notify_one(3));
            EXPECT_TRUE(c.notify_one(2));
            EXPECT_FALSE(c.notify_one(2));
            co_return;
        };
        co_await when_all(waits(1, 'a'), waits(2, 'b'), waits(2, 'c'), notifies());
        EXPECT_EQ(woken, "bac");
    });
}

TEST(condition, remembers_nothing) {
    run_virtually([]() -> task<> {
        condition c;
        EXPECT_FALSE(c.notify_one());
        auto r = co_await as_result(with_timeout(1s, c.wait()));
        EXPECT_FALSE(r);
        EXPECT_EQ(c.notify_all(), 0U) << "the one that gave up is forgotten";
    });
}

TEST(condition, passes_a_notification_on_when_the_one_that_it_reached_is_cancelled) {
    run_virtually([]() -> task<> {
        condition c;
        bool second = false;
        const auto notifies = [&]() -> task<> {
            co_await yield();
            EXPECT_TRUE(c.notify_one(4));
        };
        const auto race = [&]() -> task<> {
            auto r = co_await when_any(c.wait(4), notifies());
            EXPECT_EQ(r.index, 1U);
        };
        const auto other = [&]() -> task<> {
            EXPECT_EQ(co_await c.wait(12), 4U);
            second = true;
        };
        const auto stranger = [&]() -> task<> {
            auto r = co_await as_result(with_timeout(1s, c.wait(8)));
            EXPECT_FALSE(r);
        };
        co_await when_all(stranger(), race(), other());
        EXPECT_TRUE(second);
    });
}
