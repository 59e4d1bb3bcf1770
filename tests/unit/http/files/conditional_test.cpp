#include "http/files/conditional.hpp"

#include "http/files/entity_tag.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

using namespace coracle::http;
using namespace coracle::http::detail;

namespace {

constexpr const char* earlier = "Sun, 06 Nov 1994 08:49:36 GMT";
constexpr const char* same = "Sun, 06 Nov 1994 08:49:37 GMT";
constexpr const char* later = "Sun, 06 Nov 1994 08:49:38 GMT";
constexpr std::int64_t changed = 784111777;
constexpr validators current{"\"v2\"", changed, changed + 100};

using lines = std::initializer_list<std::pair<const char*, const char*>>;

fields make(lines all) {
    fields f;
    for (const auto& [name, value] : all) f.add(name, value);
    return f;
}

precondition check(lines all, method how = method::get, const validators& v = current) {
    return check_preconditions(how, make(all), v);
}

bool range_applies(const char* if_range, const validators& v = current) {
    return if_range_holds(make({{"If-Range", if_range}}), v);
}

}  // namespace

TEST(conditional, without_preconditions_holds) {
    EXPECT_EQ(check({}), precondition::holds);
}

TEST(conditional, if_match_compares_strongly) {
    for (const char* value : {"\"v2\"", "*", "\"v1\", \"v2\"", ", \"v2\" ,", "\"a,b\",\"v2\"",
                              "W/\"v2\", \"v2\"", "W/\"a\"\t,\"v2\""}) {
        EXPECT_EQ(check({{"If-Match", value}}), precondition::holds) << value;
    }
    for (const char* value : {"", "\"v1\"", "W/\"v2\"", "v2", "\"v2", "v2\"", "\"V2\"", "\"v2 \"",
                              "w/\"v2\"", "**", "junk, \"v2\"", "\"a,\"v2\"\""}) {
        EXPECT_EQ(check({{"If-Match", value}}), precondition::failed) << value;
    }
    EXPECT_EQ(check({{"If-Match", "\"v1\""}, {"If-Match", "\"v2\""}}), precondition::holds);
}

TEST(conditional, if_none_match_compares_weakly) {
    for (const char* value : {"\"v2\"", "W/\"v2\"", "*", "\"v1\", W/\"v2\""}) {
        EXPECT_EQ(check({{"If-None-Match", value}}), precondition::not_modified) << value;
    }
    for (const char* value : {"", "\"v1\"", "v2", "\"v2"}) {
        EXPECT_EQ(check({{"If-None-Match", value}}), precondition::holds) << value;
    }
}

TEST(conditional, dates_compare_by_the_second) {
    EXPECT_EQ(check({{"If-Modified-Since", earlier}}), precondition::holds);
    EXPECT_EQ(check({{"If-Modified-Since", same}}), precondition::not_modified);
    EXPECT_EQ(check({{"If-Modified-Since", later}}), precondition::not_modified);
    EXPECT_EQ(check({{"If-Unmodified-Since", earlier}}), precondition::failed);
    EXPECT_EQ(check({{"If-Unmodified-Since", same}}), precondition::holds);
    EXPECT_EQ(check({{"If-Unmodified-Since", later}}), precondition::holds);
}

TEST(conditional, what_is_no_date_is_ignored) {
    for (const char* value : {"", "yesterday", "784111777", "Sun, 06 Nov 1994 08:49:37 CET"}) {
        EXPECT_EQ(check({{"If-Modified-Since", value}}), precondition::holds) << value;
        EXPECT_EQ(check({{"If-Unmodified-Since", value}}), precondition::holds) << value;
    }
    EXPECT_EQ(check({{"If-Modified-Since", later}, {"If-Modified-Since", later}}),
              precondition::holds);
}

TEST(conditional, follows_the_order_of_rfc_9110_section_13_2_2) {
    // If-Match makes If-Unmodified-Since void.
    EXPECT_EQ(check({{"If-Match", "\"v2\""}, {"If-Unmodified-Since", earlier}}),
              precondition::holds);
    // If-None-Match makes If-Modified-Since void.
    EXPECT_EQ(check({{"If-None-Match", "\"v1\""}, {"If-Modified-Since", later}}),
              precondition::holds);
    // The first two come before the last two.
    EXPECT_EQ(check({{"If-None-Match", "\"v2\""}, {"If-Match", "\"v1\""}}), precondition::failed);
    EXPECT_EQ(check({{"If-None-Match", "\"v2\""}, {"If-Unmodified-Since", earlier}}),
              precondition::failed);
    EXPECT_EQ(check({{"If-Match", "\"v2\""}, {"If-None-Match", "\"v2\""}}),
              precondition::not_modified);
    EXPECT_EQ(check({{"If-Match", "*"}, {"If-Modified-Since", later}}), precondition::not_modified);
}

TEST(conditional, nothing_but_get_and_head_gets_a_304) {
    for (const method how : {method::post, method::put, method::delete_, method::other}) {
        EXPECT_EQ(check({{"If-None-Match", "*"}}, how), precondition::failed);
        EXPECT_EQ(check({{"If-None-Match", "\"v2\""}}, how), precondition::failed);
        EXPECT_EQ(check({{"If-None-Match", "\"v1\""}}, how), precondition::holds);
        EXPECT_EQ(check({{"If-Modified-Since", later}}, how), precondition::holds);
        EXPECT_EQ(check({{"If-Unmodified-Since", earlier}}, how), precondition::failed);
        EXPECT_EQ(check({{"If-Match", "\"v1\""}}, how), precondition::failed);
    }
    EXPECT_EQ(check({{"If-None-Match", "*"}}, method::head), precondition::not_modified);
    EXPECT_EQ(check({{"If-Modified-Since", later}}, method::head), precondition::not_modified);
}

TEST(conditional, a_weak_tag_is_compared_weakly_alone) {
    const validators weak{"W/\"v2\"", changed, changed + 100};
    for (const char* value : {"\"v2\"", "W/\"v2\"", "*"}) {
        EXPECT_EQ(check({{"If-None-Match", value}}, method::get, weak), precondition::not_modified);
    }
    EXPECT_EQ(check({{"If-None-Match", "W/\"v1\""}}, method::get, weak), precondition::holds);
    EXPECT_EQ(check({{"If-Match", "*"}}, method::get, weak), precondition::holds);
    EXPECT_EQ(check({{"If-Match", "\"v2\""}}, method::get, weak), precondition::failed);
    EXPECT_EQ(check({{"If-Match", "W/\"v2\""}}, method::get, weak), precondition::failed);
}

TEST(conditional, if_range_needs_a_strong_validator) {
    EXPECT_TRUE(if_range_holds(fields(), current));
    EXPECT_TRUE(range_applies("\"v2\""));
    EXPECT_FALSE(range_applies("\"v1\""));
    EXPECT_FALSE(range_applies("W/\"v2\""));
    EXPECT_FALSE(range_applies("*"));
    EXPECT_FALSE(range_applies(""));
    EXPECT_TRUE(range_applies(same));
    EXPECT_FALSE(range_applies(earlier));
    EXPECT_FALSE(range_applies(later));
    // Changed within the second of the response, or nobody knows when.
    EXPECT_FALSE(range_applies(same, {"\"v2\"", changed, changed}));
    EXPECT_FALSE(range_applies(same, {"\"v2\"", changed, std::nullopt}));
}

TEST(entity_tag, differs_when_size_time_or_inode_does) {
    coracle::file_status s;
    s.size = 0x10;
    s.modified_ns = 0x1234;
    s.inode = 0xab;
    EXPECT_EQ(entity_tag_of(s), "\"10-1234-ab\"");
    s.modified_ns = -1;
    s.size = s.inode = UINT64_MAX;
    EXPECT_EQ(entity_tag_of(s), "\"ffffffffffffffff-ffffffffffffffff-ffffffffffffffff\"");
}
