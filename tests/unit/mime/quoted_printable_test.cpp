#include <coracle/mime/quoted_printable.hpp>

#include <gtest/gtest.h>

using namespace coracle::mime;

namespace {

std::size_t longest_line(std::string_view text) {
    std::size_t longest = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find("\r\n"), text.size());
        longest = std::max(longest, end);
        text.remove_prefix(std::min(end + 2, text.size()));
    }
    return longest;
}

}  // namespace

TEST(quoted_printable, leaves_plain_text_and_hides_the_rest) {
    EXPECT_EQ(quoted_printable_encode("a=b \xC3\xA9\n"), "a=3Db =C3=A9\r\n");
    EXPECT_EQ(quoted_printable_encode("x \ny\t\r\nz "), "x=20\r\ny=09\r\nz=20");
    EXPECT_EQ(quoted_printable_encode("a\r\nb\r", line_ends::binary), "a=0D=0Ab=0D");
}

TEST(quoted_printable, keeps_lines_to_76_characters) {
    EXPECT_EQ(quoted_printable_encode(std::string(75, 'a')), std::string(75, 'a'));
    EXPECT_EQ(quoted_printable_encode(std::string(76, 'a')), std::string(75, 'a').append("=\r\na"));
    for (const char c : {'a', ' ', '\xE9', '\r'}) {
        const std::string text(1000, c);
        const std::string written = quoted_printable_encode(text, line_ends::binary);
        EXPECT_LE(longest_line(written), 76u);
        EXPECT_EQ(quoted_printable_decode(written), text);
    }
}

TEST(quoted_printable, brings_back_every_byte) {
    std::string bytes;
    for (int i = 0; i != 512; ++i) bytes += static_cast<char>(i * 37);
    EXPECT_EQ(quoted_printable_decode(quoted_printable_encode(bytes, line_ends::binary)), bytes);
    const std::string text = "one\r\n\r\n two \r\n=three\t\r\n";
    EXPECT_EQ(quoted_printable_decode(quoted_printable_encode(text)), text);
}

TEST(quoted_printable, takes_what_others_made_of_it) {
    EXPECT_EQ(quoted_printable_decode("a=3db  \r\nc=\r\nd= \t\r\ne"), "a=b\r\ncde");
    EXPECT_EQ(quoted_printable_decode("100%=x =4 =\n\ny"), "100%=x =4 \ny");
    EXPECT_EQ(quoted_printable_decode(""), "");
}
