// Delays between attempts.

#include "runtime/backoff.hpp"

#include "support/virtual_time.hpp"

#include <gtest/gtest.h>

#include <vector>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::detail::next_delay;
using coracle::detail::shortened_by_chance;
using coracle::testing::run_virtually;

namespace {

std::vector<duration> delays(duration first, duration longest) {
    std::vector<duration> all;
    duration last{};
    for (int i = 0; i != 4; ++i) all.push_back(last = next_delay(last, first, longest));
    return all;
}

}  // namespace

TEST(backoff, doubles_up_to_the_longest_and_is_never_without_a_pause) {
    using list = std::vector<duration>;
    EXPECT_EQ(delays(5ms, 15ms), (list{5ms, 10ms, 15ms, 15ms}));
    EXPECT_EQ(delays(20ms, 15ms), (list{15ms, 15ms, 15ms, 15ms}));
    EXPECT_EQ(delays(0s, 3ms), (list{1ms, 2ms, 3ms, 3ms}));
    for (const duration d : {duration::zero(), duration(-1), duration::min()}) {
        EXPECT_EQ(delays(d, d), (list{1ms, 1ms, 1ms, 1ms}));
        EXPECT_EQ(delays(1h, d), (list{1ms, 1ms, 1ms, 1ms}));
    }
    const auto longest = delays(duration::max(), duration::max());
    EXPECT_GT(longest.front(), 24h * 365);
    EXPECT_EQ(longest.front(), longest.back());
}

TEST(backoff, is_shortened_by_half_at_most) {
    run_virtually([]() -> task<> {
        std::vector<duration> seen;
        for (int i = 0; i != 100; ++i) {
            const duration d = shortened_by_chance(1s);
            EXPECT_GT(d, 500ms);
            EXPECT_LE(d, 1s);
            seen.push_back(d);
        }
        EXPECT_NE(seen.front(), seen.back());
        for (const duration d : {duration(0), duration(1), duration(-5), duration::min()}) {
            EXPECT_EQ(shortened_by_chance(d), d);
        }
        co_return;
    });
}
