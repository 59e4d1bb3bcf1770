#include "http/message/retry_after.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

using namespace coracle::http;
using namespace std::chrono_literals;

TEST(retry_after, is_seconds_or_a_date) {
    constexpr std::int64_t now = 784'111'777;  // Sun, 06 Nov 1994 08:49:37 GMT
    EXPECT_EQ(parse_retry_after("0", now), 0s);
    EXPECT_EQ(parse_retry_after("120", now), 120s);
    EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:50:37 GMT", now), 60s);
    EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:48:37 GMT", now), 0s);
    EXPECT_EQ(parse_retry_after("-5", now), 0s);
    EXPECT_EQ(parse_retry_after("-99999999999999999999", now), 0s);
    constexpr std::chrono::seconds most = std::chrono::years(10);
    EXPECT_EQ(parse_retry_after("99999999999999999999", now), most);
    EXPECT_EQ(parse_retry_after("4000000000", now), most);
    for (const char* none : {"", "soon", "1.5", "10 s", " 1"}) {
        EXPECT_EQ(parse_retry_after(none, now), std::nullopt) << none;
    }
}
