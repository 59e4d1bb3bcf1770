#include "http/h1/unfold.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

using coracle::http::h1::unfold;

namespace {

struct row {
    std::string_view folded;
    std::string_view unfolded;
};

constexpr row rows[] = {
    {"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b   c\r\n\r\n"},
    {"HTTP/1.1 200 OK\r\nA: b \t\r\n\t c\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b      c\r\n\r\n"},
    {"HTTP/1.1 200 OK\r\nA:\r\n b\r\n\r\n", "HTTP/1.1 200 OK\r\nA:   b\r\n\r\n"},
    {"HTTP/1.1 200 OK\r\nA: b\r\n \r\n c\r\nD: e\r\n\r\n",
     "HTTP/1.1 200 OK\r\nA: b      c\r\nD: e\r\n\r\n"},
    // As far as it is there.
    {"HTTP/1.1 200 OK\r\nA: b\r\n ", "HTTP/1.1 200 OK\r\nA: b   "},
    {"HTTP/1.1 200 OK\r\nA: b\r\n c\r", "HTTP/1.1 200 OK\r\nA: b   c\r"},
};

constexpr std::string_view untouched[] = {
    "",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 200 OK\r\n A: b\r\n",
    "HTTP/1.1 200 OK\r\nA: b\r\n",
    "HTTP/1.1 200 OK\r\nA: b\r\n\r\n",
    // Bytes after the head are no part of it.
    "HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody\r\n more",
};

}  // namespace

TEST(unfold, puts_spaces_in_place_of_folds) {
    for (const row& r : rows) {
        std::string bytes(r.folded);
        EXPECT_TRUE(unfold(bytes.data(), bytes.size())) << r.folded;
        EXPECT_EQ(bytes, r.unfolded);
        EXPECT_FALSE(unfold(bytes.data(), bytes.size())) << r.unfolded;
    }
}

TEST(unfold, leaves_everything_else_alone) {
    for (const std::string_view text : untouched) {
        std::string bytes(text);
        EXPECT_FALSE(unfold(bytes.data(), bytes.size())) << text;
        EXPECT_EQ(bytes, text);
    }
}
