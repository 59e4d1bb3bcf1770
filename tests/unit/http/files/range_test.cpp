#include "http/files/range.hpp"

#include <gtest/gtest.h>

using namespace coracle::http;
using coracle::http::detail::requested_range;

namespace {

/// "whole", "none", or "first+size".
std::string asked(std::string_view range, std::uint64_t size) {
    fields all;
    all.add("Range", range);
    const auto r = requested_range(all, size);
    switch (r.what) {
        case detail::byte_range::result::whole: return "whole";
        case detail::byte_range::result::unsatisfiable: return "none";
        case detail::byte_range::result::part: break;
    }
    return std::to_string(r.first) + '+' + std::to_string(r.size);
}

}  // namespace

TEST(range, of_one_part_is_cut_to_the_representation) {
    EXPECT_EQ(asked("bytes=0-0", 10), "0+1");
    EXPECT_EQ(asked("bytes=0-9", 10), "0+10");
    EXPECT_EQ(asked("bytes=2-5", 10), "2+4");
    EXPECT_EQ(asked("bytes=2-99", 10), "2+8");
    EXPECT_EQ(asked("bytes=9-", 10), "9+1");
    EXPECT_EQ(asked("bytes=0-", 10), "0+10");
    EXPECT_EQ(asked("bytes=-3", 10), "7+3");
    EXPECT_EQ(asked("bytes=-10", 10), "0+10");
    EXPECT_EQ(asked("bytes=-99", 10), "0+10");
    EXPECT_EQ(asked("BYTES=1-1", 10), "1+1");
    EXPECT_EQ(asked("bytes= 1-1", 10), "1+1");
    EXPECT_EQ(asked("bytes=00000000000000000000000001-1", 10), "1+1");
}

TEST(range, bears_numbers_beyond_64_bits) {
    EXPECT_EQ(asked("bytes=1-99999999999999999999999", 10), "1+9");
    EXPECT_EQ(asked("bytes=-99999999999999999999999", 10), "0+10");
    EXPECT_EQ(asked("bytes=99999999999999999999999-", 10), "none");
    EXPECT_EQ(asked("bytes=18446744073709551615-18446744073709551615", 10), "none");
    EXPECT_EQ(asked("bytes=0-18446744073709551615", UINT64_MAX), "0+18446744073709551615");
}

TEST(range, that_begins_behind_the_end_is_unsatisfiable) {
    EXPECT_EQ(asked("bytes=10-", 10), "none");
    EXPECT_EQ(asked("bytes=10-20", 10), "none");
    EXPECT_EQ(asked("bytes=-0", 10), "none");
}

TEST(range, that_is_malformed_is_ignored) {
    for (const char* range :
         {"",           "bytes",      "bytes=",      "bytes=-",    "bytes=--1",
          "bytes=1",    "bytes=5-2",  "bytes=a-b",   "bytes=1-b",  "bytes=1-2-3",
          "bytes=+1-2", "bytes=1-+2", "bytes=0x1-2", "bytes=1 -2", "bytes=1- 2",
          "bytes =1-2", "byte=1-2",   "items=1-2",   "=1-2",       "1-2",
          "bytes=1.0-2"}) {
        EXPECT_EQ(asked(range, 10), "whole") << range;
    }
}

TEST(range, of_several_parts_is_ignored) {
    for (const char* range : {"bytes=0-0,2-2", "bytes=0-,", "bytes=,0-0", "bytes=0-0, -1"}) {
        EXPECT_EQ(asked(range, 10), "whole") << range;
    }
    fields twice;
    twice.add("Range", "bytes=0-0");
    twice.add("Range", "bytes=1-1");
    EXPECT_EQ(requested_range(twice, 10).what, detail::byte_range::result::whole);
}

TEST(range, of_nothing_is_ignored) {
    EXPECT_EQ(asked("bytes=0-", 0), "whole");
    EXPECT_EQ(asked("bytes=-1", 0), "whole");
    EXPECT_EQ(requested_range(fields(), 10).what, detail::byte_range::result::whole);
}
