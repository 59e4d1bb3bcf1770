#include "support/virtual_time.hpp"

#include <coracle/runtime/latch.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

TEST(latch, lets_all_go_when_the_last_has_arrived) {
    run_virtually([]() -> task<> {
        latch l(3);
        int gone = 0;
        const auto arrives = [&](duration after) -> task<> {
            co_await sleep_for(after);
            EXPECT_EQ(gone, 0);
            co_await l.arrive_and_wait();
            ++gone;
        };
        const auto watches = [&]() -> task<> {
            co_await l.wait();
            EXPECT_TRUE(l.is_zero());
        };
        co_await when_all(arrives(1s), arrives(2s), watches(), arrives(3s));
        EXPECT_EQ(gone, 3);
    });
}

TEST(latch, of_nothing_is_open) {
    run_virtually([]() -> task<> {
        latch l(0);
        co_await l.wait();
    });
}

TEST(latch, keeps_its_count_when_a_wait_is_cancelled) {
    run_virtually([]() -> task<> {
        latch l(5);
        auto r = co_await as_result(with_timeout(1s, l.arrive_and_wait(2)));
        EXPECT_FALSE(r);
        EXPECT_EQ(l.left(), 3U);
        l.count_down(3);
        co_await l.wait();
    });
}
