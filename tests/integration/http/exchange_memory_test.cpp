#include "http/exchange/exchange.hpp"
#include "support/allocation_count.hpp"

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace coracle::testing;
using http::detail::exchange;

// A loop keeps 64 exchanges for the next requests: together they must not hold what large responses
// took.
TEST(exchanges_for_reuse, keep_the_memory_of_small_responses_alone) {
    if (!counts_allocations()) GTEST_SKIP() << "no allocations are counted in this build";
    exchange e;
    for (const bool large : {false, true}) {
        e.res.set_text(std::string(exchange::kept_text + (large ? 1 : 0), 'x'));
        e.drop_large_response();
        e.clear();
        const std::size_t before = allocated_bytes();
        e.res.set_text(std::string_view("a text that does not fit into a string without memory"));
        EXPECT_EQ(allocated_bytes() != before, large);
        e.clear();
    }
}
