#include <coracle/mime/encoded_word.hpp>

#include <gtest/gtest.h>

#include <random>
#include <string>

using namespace coracle::mime;

namespace {

/// Returns whether each piece between spaces is short enough, and no word is beyond 75 characters.
void expect_words_fit(const std::string& encoded) {
    std::size_t at = 0;
    while ((at = encoded.find("=?", at)) != std::string::npos) {
        const std::size_t end =
            encoded.find("?=", encoded.find('?', encoded.find('?', at + 2) + 1) + 1);
        ASSERT_NE(end, std::string::npos) << encoded;
        EXPECT_LE(end + 2 - at, 75u) << encoded;
        at = end + 2;
    }
}

}  // namespace

TEST(encode_words, leaves_plain_text_as_it_is) {
    for (const char* text : {"", "Hello", "Hello, World! 1 + 1 = 2?", "a  b", "100% (sure)"}) {
        EXPECT_EQ(encode_words(text), text);
    }
}

TEST(encode_words, takes_the_shorter_form) {
    EXPECT_EQ(encode_words("Grüße"), "=?utf-8?b?R3LDvMOfZQ==?=");
    EXPECT_EQ(encode_words("a rather long Grüße"), "a rather long =?utf-8?b?R3LDvMOfZQ==?=");
    EXPECT_EQ(encode_words("internationalisierungsmöglich"),
              "=?utf-8?q?internationalisierungsm=C3=B6glich?=");
    EXPECT_EQ(encode_words("Привет"), "=?utf-8?b?0J/RgNC40LLQtdGC?=");
}

TEST(encode_words, hides_what_would_be_taken_for_something_else) {
    EXPECT_EQ(encode_words("=?utf-8?q?a?="), "=?utf-8?b?PT91dGYtOD9xP2E/PQ==?=");
    EXPECT_EQ(decode_words(encode_words("=?utf-8?q?a?=")), "=?utf-8?q?a?=");
    for (const char* text : {" a", "a ", " ", "  a b  ", "\ta",
                             "a\x07"
                             "b",
                             "a\x7f"}) {
        const std::string encoded = encode_words(text);
        EXPECT_EQ(decode_words(encoded), text);
        EXPECT_EQ(encoded.find_first_of("\t\x07\x7f"), std::string::npos);
        EXPECT_FALSE(encoded.starts_with(' ') || encoded.ends_with(' ')) << encoded;
    }
}

TEST(encode_words, stand_apart_from_the_words_beside_them) {
    const struct {
        const char* text;
        const char* encoded;
    } rows[] = {
        {"Ahoy ", "=?utf-8?q?Ahoy_?="},
        {"Ahoy there ", "Ahoy =?utf-8?q?there_?="},
        {" Ahoy there", "=?utf-8?q?_Ahoy?= there"},
        {"  Ahoy, all", "=?utf-8?q?__Ahoy=2C?= all"},
        {" a ", "=?utf-8?q?_a_?="},
        {"  ", "=?utf-8?q?__?="},
        {" to \xc3\xa9", "=?utf-8?b?IHRvIMOp?="},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(encode_words(row.text), row.encoded);
        EXPECT_EQ(decode_words(row.encoded), row.text);
    }
}

TEST(encode_words, never_cuts_a_character) {
    std::string text;
    for (int i = 0; i != 100; ++i) text += "日本語🙂é";
    const std::string encoded = encode_words(text, 9);
    expect_words_fit(encoded);
    EXPECT_EQ(decode_words(encoded), text);
    // Each word alone is UTF-8: no character goes on in the next one.
    for (std::size_t at = 0; at < encoded.size();) {
        const std::size_t end = std::min(encoded.find(' ', at), encoded.size());
        EXPECT_EQ(decode_words(encoded.substr(at, end - at)).find("\xef\xbf\xbd"),
                  std::string::npos);
        at = end + 1;
    }
}

TEST(encode_words, gives_back_any_text) {
    std::mt19937 chance(7);
    const std::string pieces[] = {"a", "B",  " ",  "é", "日", "🙂", "=",
                                  "?", "=?", "\"", "(", ",",  "_"};
    for (int round = 0; round != 2000; ++round) {
        std::string text;
        const std::size_t size = chance() % 60;
        for (std::size_t i = 0; i != size; ++i) text += pieces[chance() % std::size(pieces)];
        const std::string encoded = encode_words(text, chance() % 60);
        EXPECT_EQ(decode_words(encoded), text) << encoded;
        expect_words_fit(encoded);
    }
}

TEST(decode_words, looks_at_each_byte_once) {
    // Quadratic time would be minutes.
    std::string text;
    while (text.size() < 1'000'000) text += "=?a?q?x";
    EXPECT_EQ(decode_words(text), text);
}

TEST(decode_words, reads_what_others_write) {
    const struct {
        const char* text;
        const char* wanted;
    } rows[] = {
        {"=?ISO-8859-1?Q?Andr=E9?= Pirard", "André Pirard"},
        {"=?US-ASCII?Q?Keith_Moore?=", "Keith Moore"},
        {"=?utf-8*de?q?Gr=C3=BC=C3=9Fe?=", "Grüße"},
        {"=?utf-8?Q?a?= =?utf-8?q?b?=", "ab"},
        {"=?utf-8?Q?a?=  \r\n\t =?utf-8?b?Yg==?=", "ab"},
        {"=?utf-8?Q?a_b?= c =?utf-8?Q?d?=", "a b c d"},
        {"(=?utf-8?q?a?= b)", "(a b)"},
        {"=?utf-8?b?w6k?=", "é"},                    // without padding
        {"=?utf-8?b?ww==?= =?utf-8?b?qQ==?=", "é"},  // a character in two words
        {"=?koi8-r?b?8NLJ18XU?=", "=?koi8-r?b?8NLJ18XU?="},
        {"=?utf-8?q?a b?=", "=?utf-8?q?a b?="},
        {"=?utf-8?q?a=?utf-8?q?b?=", "=?utf-8?q?ab"},
        {"=?utf-8?q?a?b?=", "=?utf-8?q?a?b?="},
        {"=?utf-8?q?=4?=", "=?utf-8?q?=4?="},
        {"=?utf-8?x?a?=", "=?utf-8?x?a?="},
        {"=?utf-8?q?a", "=?utf-8?q?a"},
        {"=?", "=?"},
        {"=?a?q", "=?a?q"},
        {"\xff", "\xef\xbf\xbd"},
        {"=?utf-8?q?=FF?=", "\xef\xbf\xbd"},
    };
    for (const auto& row : rows) EXPECT_EQ(decode_words(row.text), row.wanted) << row.text;
}
