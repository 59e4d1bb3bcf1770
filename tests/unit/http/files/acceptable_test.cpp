#include "http/files/acceptable.hpp"

#include <gtest/gtest.h>

using namespace coracle::http;
using namespace coracle::http::detail;

namespace {

std::string codings(std::initializer_list<const char*> lines) {
    fields f;
    for (const char* line : lines) f.add("Accept-Encoding", line);
    std::string names;
    for (const content_coding c : acceptable_codings(f).list()) {
        if (!names.empty()) names += ' ';
        names += to_string(c);
    }
    return names;
}

fields accept(const char* value) {
    fields f;
    f.add("Accept", value);
    return f;
}

}  // namespace

TEST(acceptable_codings, are_ordered_by_weight_and_then_by_size) {
    EXPECT_EQ(codings({"gzip, deflate, br, zstd"}), "br zstd gzip");
    EXPECT_EQ(codings({"br;q=0.5, gzip, zstd;q=0.7"}), "gzip zstd br");
    EXPECT_EQ(codings({"br;q=0.5", "GZIP ; Q=0.501"}), "gzip br");
    EXPECT_EQ(codings({"x-gzip"}), "gzip");
    EXPECT_EQ(codings({"*"}), "br zstd gzip");
    EXPECT_EQ(codings({"*;q=0.1, gzip"}), "gzip br zstd");
    EXPECT_EQ(codings({"br;q=0, *"}), "zstd gzip");
}

TEST(acceptable_codings, are_none_where_none_is_wanted) {
    EXPECT_EQ(codings({}), "");
    EXPECT_EQ(codings({""}), "");
    EXPECT_EQ(codings({"identity"}), "");
    EXPECT_EQ(codings({"deflate, compress"}), "");
    EXPECT_EQ(codings({"gzip;q=0, br;q=0.000"}), "");
    EXPECT_EQ(codings({"gzip;q=0.5, identity;q=0.6"}), "");
    EXPECT_EQ(codings({"gzip;q=0.6, identity;q=0.6"}), "gzip");
}

TEST(acceptable_codings, weigh_nothing_where_the_weight_is_malformed) {
    for (const char* bad : {"gzip;q=2", "gzip;q=1.001", "gzip;q=", "gzip;q=-1", "gzip;q=0.1234",
                            "gzip;q=x", "gzip;q=0x1"}) {
        EXPECT_EQ(codings({bad}), "") << bad;
    }
    EXPECT_EQ(codings({"gzip;q=1.000"}), "gzip");
    EXPECT_EQ(codings({"gzip;q=0.001"}), "gzip");
    EXPECT_EQ(codings({"gzip;q=1."}), "gzip");
}

TEST(names_html, is_not_content_with_a_wildcard) {
    EXPECT_TRUE(names_html(accept("text/html,application/xhtml+xml,*/*;q=0.8")));
    EXPECT_TRUE(names_html(accept("a/b, Text/HTML;level=1;q=0.1")));
    EXPECT_FALSE(names_html(accept("*/*")));
    EXPECT_FALSE(names_html(accept("text/*")));
    EXPECT_FALSE(names_html(accept("text/html;q=0")));
    EXPECT_FALSE(names_html(fields()));
}

TEST(prefers_json, weighs_it_against_html) {
    EXPECT_TRUE(prefers_json(accept("application/json")));
    EXPECT_TRUE(prefers_json(accept("text/html;q=0.5, application/json")));
    EXPECT_TRUE(prefers_json(accept("text/*;q=0.5, application/*")));
    EXPECT_FALSE(prefers_json(accept("*/*")));
    EXPECT_FALSE(prefers_json(accept("text/html, application/json;q=0.9")));
    EXPECT_FALSE(prefers_json(accept("application/json, text/html")));
    EXPECT_FALSE(prefers_json(fields()));
}
