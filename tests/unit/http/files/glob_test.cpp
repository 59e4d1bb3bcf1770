#include "http/files/glob.hpp"

#include <gtest/gtest.h>

using coracle::http::detail::matches_glob;
using coracle::http::detail::path_matches_glob;

TEST(glob, stands_for_itself_but_for_star_and_question_mark) {
    EXPECT_TRUE(matches_glob("", ""));
    EXPECT_FALSE(matches_glob("", "a"));
    EXPECT_TRUE(matches_glob("a[b]\\c", "a[b]\\c"));
    EXPECT_FALSE(matches_glob("abc", "abd"));
    EXPECT_FALSE(matches_glob("abc", "ab"));
    EXPECT_FALSE(matches_glob("ab", "abc"));
    EXPECT_TRUE(matches_glob("a?c", "abc"));
    EXPECT_FALSE(matches_glob("a?c", "ac"));
}

TEST(glob, has_a_star_for_any_number_of_bytes) {
    EXPECT_TRUE(matches_glob("*", ""));
    EXPECT_TRUE(matches_glob("/assets/*", "/assets/"));
    EXPECT_TRUE(matches_glob("/assets/*", "/assets/a/b.js"));
    EXPECT_FALSE(matches_glob("/assets/*", "/asset/a"));
    EXPECT_TRUE(matches_glob("*.*.js", "app.0a1b.js"));
    EXPECT_FALSE(matches_glob("*.*.js", "app.js"));
    EXPECT_TRUE(matches_glob("*ab*ab", "xabyabab"));
    EXPECT_FALSE(matches_glob("*ab*abc", "xabyabab"));
    EXPECT_TRUE(matches_glob("a**b", "ab"));
}

TEST(glob, takes_no_more_steps_than_the_product_of_the_sizes) {
    // With backtracking over every star this would never end.
    std::string glob;
    for (int i = 0; i != 50; ++i) glob += "a*";
    EXPECT_FALSE(matches_glob(glob + 'b', std::string(5000, 'a')));
}

TEST(path_glob, with_a_slash_is_held_against_the_path_and_without_against_the_name) {
    EXPECT_TRUE(path_matches_glob("/assets/*", "assets/app.js"));
    EXPECT_FALSE(path_matches_glob("/assets/*", "x/assets/app.js"));
    EXPECT_TRUE(path_matches_glob("*/assets/*", "x/assets/app.js"));
    EXPECT_TRUE(path_matches_glob("*.js", "assets/app.js"));
    EXPECT_TRUE(path_matches_glob("app.js", "assets/app.js"));
    EXPECT_FALSE(path_matches_glob("assets*", "assets/app.js"));
    EXPECT_TRUE(path_matches_glob("/index.html", "index.html"));
}
