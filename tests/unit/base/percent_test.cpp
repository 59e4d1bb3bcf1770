#include <coracle/base/percent.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

using namespace coracle;
using namespace std::literals;

TEST(percent_encode, keeps_what_the_set_allows) {
    const std::string_view text = "aZ09-._~/?:@!$&'()*+,;=#[]% \"\xc3\xa9\0"sv;
    EXPECT_EQ(percent_encode(text),
              "aZ09-._~%2F%3F%3A%40%21%24%26%27%28%29%2A%2B%2C%3B%3D%23%5B%5D%25%20%22%C3%A9%00");
    EXPECT_EQ(percent_encode(text, percent_set::path),
              "aZ09-._~/%3F:@!$&'()*+,;=%23%5B%5D%25%20%22%C3%A9%00");
    EXPECT_EQ(percent_encode(text, percent_set::query),
              "aZ09-._~/?:@!$&'()*+,;=%23%5B%5D%25%20%22%C3%A9%00");
}

TEST(percent_decode, undoes_encoding_for_every_byte) {
    std::string all;
    for (int i = 0; i < 256; ++i) {
        all.push_back(static_cast<char>(i));
    }
    for (const auto keep : {percent_set::component, percent_set::path, percent_set::query}) {
        EXPECT_EQ(percent_decode(percent_encode(all, keep)), all);
    }
}

TEST(percent_decode, reads_both_cases_and_leaves_plus) {
    EXPECT_EQ(percent_decode("%c3%A9+%2b"), "\xc3\xa9++");
    EXPECT_EQ(percent_decode("%00"), "\0"sv);
    EXPECT_EQ(percent_decode(""), "");
    EXPECT_EQ(percent_decode("%2525"), "%25");
}

TEST(percent_decode, refuses_a_percent_sign_without_two_digits) {
    for (const std::string_view text :
         {"%", "a%", "%4", "%4g", "%g4", "%%41", "% 41", "%+1", "%-1"}) {
        EXPECT_FALSE(percent_decode(text)) << text;
    }
}

TEST(form_decode, turns_plus_into_a_space) {
    EXPECT_EQ(form_decode("a+b%2Bc"), "a b+c");
    EXPECT_EQ(form_decode(""), "");
}

TEST(form_decode, leaves_a_percent_sign_without_two_digits) {
    for (const std::string_view text :
         {"%", "a%", "50%", "%4", "%4g", "%g4", "% 41", "%-1", "%zz%"}) {
        EXPECT_EQ(form_decode(text), text);
    }
    EXPECT_EQ(form_decode("%%41%+1%2"), "%A% 1%2");
}

TEST(form_decode, works_in_place) {
    std::string text = "a%20b+%2Fc%";
    text.resize(form_decode_to(text.data(), text));
    EXPECT_EQ(text, "a b /c%");
}
