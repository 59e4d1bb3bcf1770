#include "base/utf8.hpp"

#include <gtest/gtest.h>

using coracle::detail::utf8_sequence;
using namespace std::string_view_literals;

TEST(utf8, knows_the_size_of_each_sequence) {
    EXPECT_EQ(utf8_sequence("a"), 1u);
    EXPECT_EQ(utf8_sequence("\0"sv), 1u);
    EXPECT_EQ(utf8_sequence("\xc2\x80"), 2u);
    EXPECT_EQ(utf8_sequence("\xe0\xa0\x80"), 3u);
    EXPECT_EQ(utf8_sequence("\xed\x9f\xbf"), 3u);
    EXPECT_EQ(utf8_sequence("\xee\x80\x80"), 3u);
    EXPECT_EQ(utf8_sequence("\xf0\x90\x80\x80"), 4u);
    EXPECT_EQ(utf8_sequence("\xf4\x8f\xbf\xbf..."), 4u);
}

TEST(utf8, refuses_what_rfc_3629_forbids) {
    for (const std::string_view bad :
         {"\x80"sv, "\xbf"sv, "\xc0\x80"sv, "\xc1\xbf"sv, "\xe0\x9f\xbf"sv, "\xed\xa0\x80"sv,
          "\xf0\x8f\xbf\xbf"sv, "\xf4\x90\x80\x80"sv, "\xf5\x80\x80\x80"sv, "\xff"sv, "\xc2"sv,
          "\xe2\x82"sv, "\xf0\x90\x80"sv, "\xe2\x82\x28"sv, "\xc2 "sv}) {
        EXPECT_EQ(utf8_sequence(bad), 0u) << bad;
    }
}
