#include "support/virtual_time.hpp"

#include <coracle/runtime/semaphore.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

TEST(semaphore, bounds_how_many_are_inside) {
    run_virtually([]() -> task<> {
        semaphore s(3);
        int inside = 0;
        int most = 0;
        const auto work = [&]() -> task<> {
            auto permit = co_await s.hold();
            most = std::max(most, ++inside);
            co_await sleep_for(1s);
            --inside;
        };
        std::vector<task<>> all;
        for (int i = 0; i != 10; ++i) all.push_back(work());
        const time_point began = loop::current()->now();
        co_await when_all(std::move(all));
        EXPECT_EQ(most, 3);
        EXPECT_EQ(loop::current()->now() - began, 4s);
        EXPECT_EQ(s.available(), 3U);
    });
}

TEST(semaphore, serves_in_order_also_when_a_later_one_asks_for_less) {
    run_virtually([]() -> task<> {
        semaphore s(0);
        std::string order;
        const auto take = [&](std::size_t n, char name) -> task<> {
            co_await s.acquire(n);
            order += name;
        };
        const auto give = [&]() -> task<> {
            s.release(2);
            co_await yield();
            EXPECT_EQ(order, "") << "the first asks for three";
            EXPECT_FALSE(s.try_acquire(1)) << "nobody overtakes it";
            s.release(2);
            co_await yield();
        };
        co_await when_all(take(3, 'a'), take(1, 'b'), give());
        EXPECT_EQ(order, "ab");
        EXPECT_EQ(s.available(), 0U);
    });
}

TEST(semaphore, serves_those_behind_one_that_gave_up) {
    run_virtually([]() -> task<> {
        semaphore s(2);
        bool served = false;
        const auto greedy = [&]() -> task<> {
            auto r = co_await as_result(with_timeout(1s, s.acquire(5)));
            EXPECT_FALSE(r);
        };
        const auto modest = [&]() -> task<> {
            co_await s.acquire(2);
            served = true;
        };
        co_await when_all(greedy(), modest());
        EXPECT_TRUE(served);
        EXPECT_EQ(s.available(), 0U);
    });
}

TEST(semaphore, takes_back_the_permits_of_one_that_is_cancelled_before_it_goes_on) {
    run_virtually([]() -> task<> {
        semaphore s(0);
        const auto gives = [&]() -> task<> {
            s.release(3);
            co_return;
        };
        auto r = co_await when_any(s.acquire(2), gives());
        EXPECT_EQ(r.index, 1U);
        EXPECT_EQ(s.available(), 3U);
    });
}

TEST(semaphore, gives_permits_back_with_the_object_that_holds_them) {
    run_virtually([]() -> task<> {
        semaphore s(4);
        {
            auto a = co_await s.hold(3);
            EXPECT_EQ(s.available(), 1U);
            auto b = std::move(a);
            EXPECT_EQ(s.available(), 1U);
            EXPECT_FALSE(a);
            b.release();
            b.release();
            EXPECT_EQ(s.available(), 4U);
        }
        EXPECT_EQ(s.available(), 4U);
    });
}

TEST(semaphore, holds_without_waiting_what_is_free_and_nobody_waits_for) {
    run_virtually([]() -> task<> {
        semaphore s(2);
        const auto greedy = [&]() -> task<> { co_await s.acquire(3); };
        const auto modest = [&]() -> task<> {
            EXPECT_FALSE(s.try_hold(1)) << "nobody overtakes it";
            s.release(2);
            EXPECT_FALSE(s.try_hold(2));
            {
                const semaphore_permit one = s.try_hold();
                EXPECT_TRUE(one);
                EXPECT_EQ(s.available(), 0U);
            }
            EXPECT_EQ(s.available(), 1U);
            co_return;
        };
        co_await when_all(greedy(), modest());
    });
}
