#include <coracle/base/html.hpp>

#include <gtest/gtest.h>

#include <string_view>

using coracle::html_escape;

TEST(html_escape, makes_references_of_what_a_page_would_take_for_its_own) {
    EXPECT_EQ(html_escape("<a href=\"x\" id='y'> & more"),
              "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt; &amp; more");
    EXPECT_EQ(html_escape("&amp;"), "&amp;amp;");
}

TEST(html_escape, leaves_text_alone) {
    EXPECT_EQ(html_escape(""), "");
    EXPECT_EQ(html_escape("gr\xc3\xbc\xc3\x9f \xf0\x9f\x9b\xb6\t\r\n"),
              "gr\xc3\xbc\xc3\x9f \xf0\x9f\x9b\xb6\t\r\n");
}

TEST(html_escape, replaces_controls_and_what_is_no_utf_8) {
    using namespace std::string_view_literals;
    EXPECT_EQ(html_escape("a\0b"sv),
              "a\xef\xbf\xbd"
              "b");
    EXPECT_EQ(html_escape("\x1b\x7f"), "\xef\xbf\xbd\xef\xbf\xbd");
    EXPECT_EQ(html_escape("\xc2\x9b"), "\xef\xbf\xbd") << "a C1 control";
    EXPECT_EQ(html_escape("\xff<"), "\xef\xbf\xbd&lt;");
    EXPECT_EQ(html_escape("\xe2\x82"), "\xef\xbf\xbd\xef\xbf\xbd") << "cut short";
}
