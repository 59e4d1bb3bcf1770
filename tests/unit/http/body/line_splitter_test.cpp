#include <coracle/http/line_splitter.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace coracle::http;
using split_status = line_splitter::status;

namespace {

using list = std::vector<std::string>;

/// The lines of a text that comes in pieces of `step` bytes, each in memory of its own.
list split_by(std::string_view text, std::size_t step, std::size_t limit) {
    line_splitter splitter(limit);
    list all;
    for (std::size_t at = 0; at < text.size(); at += step) {
        const std::string piece(text.substr(at, step));
        std::string_view rest = piece;
        for (;;) {
            const auto r = splitter.parse(rest);
            if (r.what == split_status::limit_exceeded) {
                EXPECT_EQ(splitter.parse("\n").what, split_status::limit_exceeded);
                EXPECT_EQ(splitter.finish(), split_status::limit_exceeded);
                all.emplace_back("limit");
                return all;
            }
            rest.remove_prefix(r.consumed);
            if (r.what == split_status::need_more) break;
            all.emplace_back(splitter.line());
        }
        EXPECT_TRUE(rest.empty());
    }
    const auto last = splitter.finish();
    if (last == split_status::line) all.emplace_back(splitter.line());
    if (last == split_status::limit_exceeded) all.emplace_back("limit");
    return all;
}

list split(std::string_view text, std::size_t limit = line_splitter::default_limit) {
    list whole = split_by(text, text.size() + 1, limit);
    for (std::size_t step = 1; step < 8 && step < text.size(); ++step) {
        EXPECT_EQ(split_by(text, step, limit), whole) << "pieces of " << step;
    }
    return whole;
}

}  // namespace

TEST(line_splitter, ends_lines_at_lf_and_crlf) {
    EXPECT_EQ(split("a\nbc\r\n\n\r\nd"), (list{"a", "bc", "", "", "d"}));
    EXPECT_EQ(split("a\rb\r\r\nc\r"), (list{"a\rb\r", "c\r"}));
    EXPECT_EQ(split("a\n"), list{"a"});
    EXPECT_EQ(split("\n"), list{""});
    EXPECT_EQ(split(""), list{});
    EXPECT_EQ(split(std::string_view("a\0b\n", 4)), (list{std::string("a\0b", 3)}));
}

TEST(line_splitter, copies_no_line_that_lies_in_one_piece) {
    line_splitter splitter;
    const std::string_view text = "first\nsecond\r\nthi";
    ASSERT_EQ(splitter.parse(text).what, split_status::line);
    EXPECT_EQ(splitter.line().data(), text.data());
    ASSERT_EQ(splitter.parse(text.substr(6)).what, split_status::line);
    EXPECT_EQ(splitter.line().data(), text.data() + 6);
}

TEST(line_splitter, holds_its_limit_to_the_byte) {
    EXPECT_EQ(split("abc\nabc\r\nabc", 3), (list{"abc", "abc", "abc"}));
    EXPECT_EQ(split("abc\nabcd\n", 3), (list{"abc", "limit"}));
    EXPECT_EQ(split("abcd\r\n", 3), list{"limit"});
    EXPECT_EQ(split("abc\r", 3), list{"limit"});
    EXPECT_EQ(split("abc\rd", 3), list{"limit"});
    EXPECT_EQ(split("abcd", 3), list{"limit"});
    EXPECT_EQ(split("\n\r\n", 0), (list{"", ""}));
    EXPECT_EQ(split("a", 0), list{"limit"});
    EXPECT_EQ(split("ab\ncd", SIZE_MAX), (list{"ab", "cd"}));
    EXPECT_EQ(split("ab\ncd", SIZE_MAX - 1), (list{"ab", "cd"}));
    const std::string longest(line_splitter::default_limit, 'x');
    EXPECT_EQ(split_by(longest + "\r\n", 1000, line_splitter::default_limit), list{longest});
    EXPECT_EQ(split_by(longest + "x\n", 1000, line_splitter::default_limit), list{"limit"});
}
