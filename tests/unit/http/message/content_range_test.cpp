#include <coracle/http/content_range.hpp>
#include <coracle/http/response.hpp>

#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>
#include <vector>

using coracle::http::content_range;
using coracle::http::parse_content_range;

TEST(content_range, is_read_with_and_without_a_part_and_a_whole) {
    EXPECT_EQ(parse_content_range("bytes 100-199/200"), (content_range{100, 199, 200}));
    EXPECT_EQ(parse_content_range("bytes 0-0/1"), (content_range{0, 0, 1}));
    EXPECT_EQ(parse_content_range("bytes 0-9/*"), (content_range{0, 9, {}}));
    EXPECT_EQ(parse_content_range("Bytes 0-9/*"), (content_range{0, 9, {}}));
    EXPECT_EQ(parse_content_range("bytes */200"), (content_range{{}, {}, 200}));
    EXPECT_EQ(parse_content_range("bytes 0-18446744073709551614/18446744073709551615"),
              (content_range{0, UINT64_MAX - 1, UINT64_MAX}));
}

TEST(content_range, that_contradicts_itself_is_none) {
    for (const char* text :
         {"", "bytes", "bytes ", "bytes 1-2", "bytes /3", "bytes */*", "bytes 2-1/3", "bytes 0-3/3",
          "bytes 1-/3", "bytes -1/3", "bytes 1-2/", "bytes 1-2/3/4", "bytes 1-2/x", "bytes 1 -2/3",
          "items 1-2/3", "bytes  1-2/3", "bytes +1-2/3", "bytes 0-18446744073709551616/*"}) {
        EXPECT_EQ(parse_content_range(text), std::nullopt) << text;
    }
}

namespace {

struct validator_case {
    std::vector<std::pair<std::string_view, std::string_view>> fields;
    std::string_view validator;
};

constexpr std::string_view then = "Sun, 06 Nov 1994 08:49:37 GMT";
constexpr std::string_view a_second_later = "Sun, 06 Nov 1994 08:49:38 GMT";

}  // namespace

TEST(if_range_validator, is_strong) {
    for (const auto& [lines, validator] : std::initializer_list<validator_case>{
             {{{"ETag", "\"one\""}, {"Last-Modified", then}}, "\"one\""},
             {{{"ETag", "W/\"one\""}, {"Last-Modified", then}, {"Date", a_second_later}}, ""},
             {{{"ETag", "\"one\""}, {"Content-Encoding", "gzip"}}, ""},
             {{{"Last-Modified", then}, {"Date", a_second_later}}, then},
             {{{"Last-Modified", then}, {"Date", then}}, ""},
             {{{"Last-Modified", then}}, ""},
             {{}, ""}}) {
        coracle::http::response response;
        for (const auto& [name, value] : lines) response.fields().add(name, value);
        EXPECT_EQ(coracle::http::if_range_validator(response), validator);
    }
}

TEST(is_part_of, compares_what_the_first_part_had) {
    using coracle::http::is_part_of;
    coracle::http::response part;
    EXPECT_FALSE(is_part_of(part, "\"one\""));
    EXPECT_FALSE(is_part_of(part, then));
    part.fields().add("ETag", "\"one\"");
    part.fields().add("Last-Modified", then);
    EXPECT_TRUE(is_part_of(part, "\"one\""));
    EXPECT_FALSE(is_part_of(part, "\"two\""));
    EXPECT_TRUE(is_part_of(part, then));
    EXPECT_FALSE(is_part_of(part, a_second_later));
    EXPECT_FALSE(is_part_of(part, ""));
}
