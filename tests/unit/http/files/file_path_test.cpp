#include "http/files/file_path.hpp"

#include <gtest/gtest.h>

using coracle::http::detail::is_safe_file_path;
using namespace std::string_view_literals;

TEST(file_path, with_plain_segments_is_safe) {
    for (const auto path : {""sv, "a"sv, "a/"sv, "a/b/c.txt"sv, "a b"sv, "100%"sv, "%2e"sv, "%20"sv,
                            "a..b"sv, "a."sv, "\xc3\xa9"sv, "a:b"sv, "~"sv}) {
        EXPECT_TRUE(is_safe_file_path(path, false)) << path;
    }
}

TEST(file_path, that_could_lead_elsewhere_is_not_safe) {
    for (const auto path :
         {".."sv,    "."sv,      "../a"sv, "a/.."sv, "a/../b"sv, "a/./b"sv, "/"sv,
          "/a"sv,    "//"sv,     "a//b"sv, "a//"sv,  "a\\b"sv,   "..\\a"sv, "a%2Fb"sv,
          "a%2fb"sv, "..%2Fa"sv, "%2F"sv,  "a\0b"sv, "\0"sv,     "a/\0"sv,  "C:\\"sv}) {
        EXPECT_FALSE(is_safe_file_path(path, true)) << path;
        EXPECT_FALSE(is_safe_file_path(path, false)) << path;
    }
}

TEST(file_path, shows_hidden_names_only_when_asked_to) {
    for (const auto path : {".git"sv, ".git/config"sv, "a/.env"sv, "..."sv, "..a"sv, ".a/"sv}) {
        EXPECT_FALSE(is_safe_file_path(path, false)) << path;
        EXPECT_TRUE(is_safe_file_path(path, true)) << path;
    }
}

TEST(file_path, shows_what_is_well_known) {
    for (const auto path : {".well-known/security.txt"sv, ".well-known/acme-challenge/a"sv}) {
        EXPECT_TRUE(is_safe_file_path(path, false)) << path;
    }
    for (const auto path :
         {".well-known"sv, ".well-knownxa"sv, ".well-known/.git"sv, ".well-known//a"sv,
          ".well-known/../a"sv, ".well-knownx/a"sv, "a/.well-known/b"sv}) {
        EXPECT_FALSE(is_safe_file_path(path, false)) << path;
    }
}
