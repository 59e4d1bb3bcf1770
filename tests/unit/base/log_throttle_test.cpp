#include "base/log_throttle.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace std::chrono_literals;
using coracle::log_burst;
using coracle::detail::log_throttle;
using lines = std::vector<std::string>;

namespace {

lines add(log_throttle& t, std::string_view line, log_throttle::time now) {
    lines out;
    t.add(line, now, out);
    return out;
}

}  // namespace

TEST(log_throttle, passes_different_lines) {
    log_throttle t;
    EXPECT_EQ(add(t, "a", 0s), lines{"a"});
    EXPECT_EQ(add(t, "b", 0s), lines{"b"});
    EXPECT_EQ(add(t, "c", 1h), lines{"c"});
}

TEST(log_throttle, passes_equal_lines_at_powers_of_ten) {
    log_throttle t;
    lines all;
    for (int i = 0; i != 300'000; ++i) t.add("x", 1s, all);
    EXPECT_EQ(all, (lines{"x", "x (10 times)", "x (100 times)", "x (1000 times)", "x (10000 times)",
                          "x (100000 times)"}));
    all.clear();
    t.flush(all);
    EXPECT_EQ(all, lines{"x (300000 times)"});
}

TEST(log_throttle, sums_up_and_begins_anew_when_the_window_is_over) {
    log_throttle t;
    add(t, "x", 5s);
    for (int i = 0; i != 4; ++i) EXPECT_EQ(add(t, "x", 5s + log_throttle::window - 1ns), lines{});
    EXPECT_EQ(add(t, "x", 5s + log_throttle::window), (lines{"x (5 times)", "x"}));
    EXPECT_EQ(add(t, "y", 6s + 2 * log_throttle::window), lines{"y"}) << "x came once";
}

TEST(log_throttle, drops_and_counts_what_exceeds_a_burst) {
    log_throttle t;
    for (unsigned i = 0; i != log_burst; ++i) {
        EXPECT_EQ(add(t, std::to_string(i), 10s).back(), std::to_string(i));
    }
    EXPECT_EQ(add(t, "too many", 10s), lines{});
    EXPECT_EQ(add(t, "too many", 11s - 1ns), lines{});
    EXPECT_EQ(add(t, "next", 11s),
              (lines{"warning runtime: 2 more warnings and errors were not written", "next"}));
}

TEST(log_throttle, sums_up_the_oldest_line_when_it_knows_too_many) {
    log_throttle t;
    add(t, "x", 0s);
    add(t, "x", 0s);
    for (std::size_t i = 1; i != log_throttle::remembered; ++i) add(t, std::to_string(i), 0s);
    EXPECT_EQ(add(t, "one more", 0s), (lines{"x (2 times)", "one more"}));
}
