#include "http/message/ranges.hpp"

#include <coracle/http/fields.hpp>

#include <gtest/gtest.h>

using namespace coracle::http;
using coracle::http::detail::content_range;
using coracle::http::detail::multipart_byteranges;
using coracle::http::detail::parse_ranges;
using coracle::http::detail::range_plan;

namespace {

/// "whole", "none", or "first-last,first-last".
std::string asked(std::string_view range, std::uint64_t size) {
    const range_plan plan = parse_ranges(range, size);
    if (plan.what == range_plan::result::whole) return "whole";
    if (plan.what == range_plan::result::unsatisfiable) return "none";
    std::string text;
    for (const content_range& part : plan.parts()) {
        if (!text.empty()) text += ',';
        text += std::to_string(part.first) + '-' + std::to_string(part.last);
    }
    return text;
}

/// "bytes=0-0,1000-1000,..." of `count` ranges that are far apart.
std::string scattered(std::size_t count) {
    std::string range = "bytes=";
    for (std::size_t i = 0; i != count; ++i) {
        const std::string at = std::to_string(i * 1000);
        range += (i == 0 ? "" : ",") + at + '-' + at;
    }
    return range;
}

}  // namespace

TEST(ranges, of_one_part_are_cut_to_the_representation) {
    EXPECT_EQ(asked("bytes=0-0", 10), "0-0");
    EXPECT_EQ(asked("bytes=0-9", 10), "0-9");
    EXPECT_EQ(asked("bytes=2-99", 10), "2-9");
    EXPECT_EQ(asked("bytes=9-", 10), "9-9");
    EXPECT_EQ(asked("bytes=-3", 10), "7-9");
    EXPECT_EQ(asked("bytes=-99", 10), "0-9");
    EXPECT_EQ(asked("BYTES=1-1", 10), "1-1");
    EXPECT_EQ(asked("bytes=1-99999999999999999999999", 10), "1-9");
    EXPECT_EQ(asked("bytes=0-18446744073709551615", UINT64_MAX), "0-18446744073709551614");
}

TEST(ranges, that_are_far_apart_keep_their_order) {
    EXPECT_EQ(asked("bytes=0-9,500-509", 1000), "0-9,500-509");
    EXPECT_EQ(asked("bytes=500-509, 0-9", 1000), "500-509,0-9");
    EXPECT_EQ(asked("bytes=-1,\t0-0", 1000), "999-999,0-0");
    EXPECT_EQ(asked("bytes=,0-9, ,500-509,", 1000), "0-9,500-509");
}

TEST(ranges, are_joined_where_the_gap_is_smaller_than_the_head_of_a_part) {
    EXPECT_EQ(asked("bytes=0-9,90-99", 1000), "0-9,90-99");  // a gap of 80
    EXPECT_EQ(asked("bytes=0-9,89-99", 1000), "0-99");       // of 79
    EXPECT_EQ(asked("bytes=89-99,0-9", 1000), "0-99");
    EXPECT_EQ(asked("bytes=0-9,10-19", 1000), "0-19");
    EXPECT_EQ(asked("bytes=0-100,50-60", 1000), "0-100");
    EXPECT_EQ(asked("bytes=50-60,0-100", 1000), "0-100");
    EXPECT_EQ(asked("bytes=0-9,500-509,80-430", 1000), "0-509");
    EXPECT_EQ(asked("bytes=0-9,900-909,80-430", 1000), "0-430,900-909");
}

TEST(ranges, that_begin_behind_the_end_are_left_out) {
    EXPECT_EQ(asked("bytes=0-0,10-,500-600", 10), "0-0");
    EXPECT_EQ(asked("bytes=10-", 10), "none");
    EXPECT_EQ(asked("bytes=10-20,-0", 10), "none");
}

TEST(ranges, that_are_malformed_are_ignored_altogether) {
    for (const char* range : {"",
                              "bytes",
                              "bytes=",
                              "bytes=-",
                              "bytes=--1",
                              "bytes=1",
                              "bytes=5-2",
                              "bytes=a-b",
                              "bytes=1-b",
                              "bytes=1-2-3",
                              "bytes=+1-2",
                              "bytes=1-+2",
                              "bytes=0x1-2",
                              "bytes=1 -2",
                              "bytes=1- 2",
                              "bytes =1-2",
                              "byte=1-2",
                              "items=1-2",
                              "=1-2",
                              "1-2",
                              "bytes=1.0-2",
                              "bytes=,",
                              "bytes=0-0,x",
                              "bytes=0-0,5-2",
                              "bytes=0-0;5-6"}) {
        EXPECT_EQ(asked(range, 10), "whole") << range;
    }
    EXPECT_EQ(asked("bytes=0-0", 0), "whole");
}

TEST(ranges, are_ignored_when_there_are_too_many) {
    const auto parts = [](std::size_t n) { return parse_ranges(scattered(n), 1'000'000).count; };
    EXPECT_EQ(parts(range_plan::most - 1), range_plan::most - 1);
    EXPECT_EQ(parts(range_plan::most), range_plan::most);
    EXPECT_EQ(asked(scattered(range_plan::most + 1), 1'000'000), "whole");
    EXPECT_EQ(asked(scattered(2000), 1'000'000), "whole");
    // Those that cannot be satisfied count as well.
    EXPECT_EQ(asked(scattered(range_plan::most + 1), 10), "whole");
}

TEST(ranges, are_ignored_when_more_than_two_overlap_another) {
    EXPECT_EQ(asked("bytes=0-500,1-2,3-4", 1000), "0-500");
    EXPECT_EQ(asked("bytes=0-500,1-2,3-4,5-6", 1000), "whole");
    EXPECT_EQ(asked("bytes=0-,0-,0-,0-", 1000), "whole");
    std::string killer = "bytes=0-";  // CVE-2011-3192
    for (int i = 0; i != 1300; ++i) killer += ",5-" + std::to_string(i);
    EXPECT_EQ(asked(killer, 1000), "whole");
}

TEST(ranges, are_taken_from_the_one_field_of_a_request) {
    fields all;
    EXPECT_EQ(detail::requested_ranges(all, 10).what, range_plan::result::whole);
    all.add("Range", "bytes=0-1");
    EXPECT_EQ(detail::requested_ranges(all, 10).what, range_plan::result::parts);
    all.add("Range", "bytes=0-1");
    EXPECT_EQ(detail::requested_ranges(all, 10).what, range_plan::result::whole);
}

TEST(ranges, are_told_in_content_range) {
    EXPECT_EQ(detail::to_content_range({2, 5}, 10), "bytes 2-5/10");
    EXPECT_EQ(detail::to_unsatisfied_range(10), "bytes */10");
}

TEST(multipart_byteranges, frames_the_parts_and_knows_its_size) {
    const std::string content(12345, 'x');
    const range_plan plan = parse_ranges("bytes=0-0,99-1000,-3", content.size());
    ASSERT_EQ(plan.count, 3U);
    for (const std::string_view type : {"text/plain", ""}) {
        const std::string boundary = detail::byteranges_boundary(1, UINT64_MAX);
        const multipart_byteranges body(plan.parts(), content.size(), type, boundary);
        std::string all;
        for (std::size_t i = 0; i != plan.count; ++i) {
            all += body.part_head(i);
            all += std::string_view(content).substr(plan.list[i].first, plan.list[i].size());
        }
        all += body.end();
        EXPECT_EQ(all.size(), body.total_size());
    }
}

TEST(multipart_byteranges, is_what_the_section_shows) {
    const content_range parts[] = {{1, 2}, {5, 5}};
    const multipart_byteranges body(parts, 10, "text/plain", "B");
    EXPECT_EQ(body.content_type(), "multipart/byteranges; boundary=B");
    EXPECT_EQ(body.part_head(0),
              "--B\r\nContent-Type: text/plain\r\nContent-Range: bytes 1-2/10\r\n\r\n");
    EXPECT_EQ(body.part_head(1),
              "\r\n--B\r\nContent-Type: text/plain\r\nContent-Range: bytes 5-5/10\r\n\r\n");
    EXPECT_EQ(body.end(), "\r\n--B--\r\n");
}

TEST(byteranges_boundary, is_the_32_digits_of_its_bits) {
    EXPECT_EQ(detail::byteranges_boundary(0x0123456789abcdef, 15),
              "0123456789abcdef000000000000000f");
}
