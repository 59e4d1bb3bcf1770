#include <coracle/mime/field.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace coracle::mime;

namespace {

std::string field(std::string_view name, std::string_view value) {
    std::string out;
    const auto written = append_field(out, name, value);
    return written ? out : "refused: " + std::string(written.error().subject());
}

}  // namespace

TEST(append_field, writes_short_fields_in_one_line) {
    EXPECT_EQ(field("Subject", "Hi"), "Subject: Hi\r\n");
    EXPECT_EQ(field("Subject", "  Hi \t"), "Subject: Hi\r\n");
    EXPECT_EQ(field("X-Empty", ""), "X-Empty:\r\n");
    EXPECT_EQ(field("X", "a  b"), "X: a  b\r\n");
}

TEST(append_field, folds_before_spaces_and_loses_none) {
    std::string value;
    for (int i = 0; i != 60; ++i) value += "word" + std::to_string(i) + (i % 7 == 0 ? "  " : " ");
    const std::string folded = field("Subject", value);
    for (std::size_t at = 0; at < folded.size();) {
        const std::size_t end = folded.find("\r\n", at);
        EXPECT_LE(end - at, preferred_header_line);
        EXPECT_TRUE(at == 0 || folded[at] == ' ');
        EXPECT_NE(folded.find_first_not_of(" \t", at), end) << "a line of blanks alone";
        at = end + 2;
    }
    value.pop_back();
    EXPECT_EQ(unfold(folded), "Subject: " + value + "\r\n");
}

TEST(append_field, keeps_a_long_word_beside_the_name) {
    const std::string word(900, 'x');
    EXPECT_EQ(field("References", word), "References: " + word + "\r\n");
    EXPECT_EQ(field("References", word + " a"), "References: " + word + "\r\n a\r\n");
    EXPECT_EQ(field("X", std::string(995, 'x')), "X: " + std::string(995, 'x') + "\r\n");
    EXPECT_EQ(field("X", std::string(996, 'x')), "X:\r\n " + std::string(996, 'x') + "\r\n");
    EXPECT_TRUE(field("X", std::string(998, 'x')).starts_with("refused"));
    EXPECT_EQ(field("X", "a " + std::string(997, 'x')),
              "X: a\r\n " + std::string(997, 'x') + "\r\n");
    EXPECT_TRUE(field("X", "a " + std::string(998, 'x')).starts_with("refused"));
}

TEST(append_field, keeps_lines_with_encoded_words_to_76_bytes) {
    const std::string word = "=?utf-8?q?" + std::string(63, 'a') + "?=";
    ASSERT_EQ(word.size(), 75U);
    EXPECT_EQ(field("X", word), "X:\r\n " + word + "\r\n");
    EXPECT_EQ(field("X", word + ' ' + word), "X:\r\n " + word + "\r\n " + word + "\r\n");
    const std::string shorter = "=?utf-8?q?" + std::string(61, 'a') + "?=";
    EXPECT_EQ(field("X", shorter), "X: " + shorter + "\r\n");
    // With what follows on the line.
    EXPECT_EQ(field("X", shorter + " <a>"), "X: " + shorter + "\r\n <a>\r\n");
    EXPECT_EQ(field("X", word + " a " + std::string(74, 'b') + ' ' + "c"),
              "X:\r\n " + word + "\r\n a " + std::string(74, 'b') + "\r\n c\r\n");
}

TEST(append_field, refuses_what_would_be_another_field) {
    using namespace std::string_view_literals;
    for (const std::string_view value : {"a\r\nBcc: x@y"sv, "a\nb"sv, "a\rb"sv, "a\0b"sv}) {
        EXPECT_EQ(field("Subject", value), "refused: Subject: CR, LF or NUL in the value");
    }
    for (const std::string_view name : {"A\r\nB"sv, "A:"sv, ""sv, "A B"sv, "\x80"sv}) {
        EXPECT_TRUE(field(name, "x").starts_with("refused: a field")) << name;
    }
    std::string header = "A: 1\r\n";
    EXPECT_FALSE(append_field(header, "B", "a\nb"));
    EXPECT_FALSE(append_field(header, "B", std::string(2000, 'x')));
    EXPECT_EQ(header, "A: 1\r\n");
}

TEST(unfold, takes_line_ends_before_blanks_alone) {
    EXPECT_EQ(unfold("a\r\n b\n\tc"), "a b\tc");
    EXPECT_EQ(unfold("a\r\nb"), "a\r\nb");
    EXPECT_EQ(unfold("a\r\n"), "a\r\n");
}
