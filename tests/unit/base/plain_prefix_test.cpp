// Characters that need no escape in quotes.

#include "base/plain_prefix.hpp"

#include <gtest/gtest.h>

#include <string>

using coracle::detail::is_plain;
using coracle::detail::plain_prefix;

TEST(plain_prefix, ends_at_each_byte_that_needs_an_escape_wherever_it_is) {
    for (int byte = 0; byte != 256; ++byte) {
        const char c = static_cast<char>(byte);
        const bool needs_none = byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\';
        EXPECT_EQ(is_plain(c), needs_none) << byte;
        for (std::size_t at = 0; at != 20; ++at) {
            for (const char around : {' ', '~', '!', '#', '[', ']'}) {
                std::string text(20, around);
                text[at] = c;
                EXPECT_EQ(plain_prefix(text), needs_none ? 20 : at) << byte << " at " << at;
                EXPECT_EQ(plain_prefix(text.substr(0, at)), at);
            }
        }
    }
    EXPECT_EQ(plain_prefix(""), 0U);
}

TEST(plain_prefix, ends_at_the_first_of_several) {
    EXPECT_EQ(plain_prefix("0123456\"\\\xff"), 7U);
    EXPECT_EQ(plain_prefix("01234567\x7f\""), 8U);
    EXPECT_EQ(plain_prefix("\n0123456789"), 0U);
}
