#include "connect/option_values.hpp"

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using connect::detail::time_value;

TEST(time_value, reads_what_it_writes) {
    for (const duration d :
         {duration(0), duration(1), duration((std::int64_t{1} << 53) + 1), duration::max(),
          duration(duration::max().count() - 1), duration(std::chrono::hours(26))}) {
        duration read(-7);
        EXPECT_TRUE(time_value::read(time_value::write(d), read)) << time_value::write(d);
        EXPECT_EQ(read, d);
    }
    EXPECT_EQ(time_value::write(duration(-5)), "0");
    duration read(-7);
    EXPECT_FALSE(time_value::read("9223372036854775808ns", read));
    EXPECT_FALSE(time_value::read("1e400", read));
    EXPECT_TRUE(time_value::read("1.5s", read));
    EXPECT_EQ(read, std::chrono::milliseconds(1500));
}
