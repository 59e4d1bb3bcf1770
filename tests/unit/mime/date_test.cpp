#include <coracle/mime/date.hpp>

#include <gtest/gtest.h>

#include <clocale>
#include <string>

using namespace coracle::mime;

TEST(format_date, is_english_with_the_offset) {
    EXPECT_EQ(format_date({0, 0}), "Thu, 01 Jan 1970 00:00:00 +0000");
    EXPECT_EQ(format_date({1795478591, 60}), "Tue, 24 Nov 2026 01:03:11 +0100");
    EXPECT_EQ(format_date({1795478591, -570}), "Mon, 23 Nov 2026 14:33:11 -0930");
    EXPECT_EQ(format_date({951782400, 0}), "Tue, 29 Feb 2000 00:00:00 +0000");
    EXPECT_EQ(format_date({951782399, 0}), "Mon, 28 Feb 2000 23:59:59 +0000");
}

TEST(format_date, clamps_what_has_no_form) {
    EXPECT_EQ(format_date({INT64_MAX, 0}), "Fri, 31 Dec 9999 23:59:59 +0000");
    EXPECT_EQ(format_date({INT64_MIN, 0}), "Mon, 01 Jan 1900 00:00:00 +0000");
    EXPECT_EQ(format_date({0, 100000}), "Thu, 01 Jan 1970 23:59:00 +2359");
}

TEST(parse_date, reads_what_it_writes) {
    for (std::int64_t at = -2'208'988'800; at < 4'102'444'800; at += 86'399 * 97) {
        for (const int offset : {0, 330, -480, 845}) {
            const date d{at + 86'400, offset};
            EXPECT_EQ(parse_date(format_date(d)), d) << format_date(d);
        }
    }
}

TEST(parse_date, reads_older_forms) {
    const date noon{1795435200, 0};
    for (const char* text :
         {"Mon, 23 Nov 2026 12:00:00 +0000", "23 Nov 2026 12:00 +0000", "23 Nov 26 12:00:00 GMT",
          "Mon, 23 Nov 2026 12:00:00 (x) -0000 (a (b) c)", " Mon,23 Nov 2026 12:00:00 UT",
          "mon, 23 nov 126 12:00:00 Z", "Mon, 23 Nov 2026 12:00:00 XYZ",
          "Mon, 23 Nov 2026\r\n 12:00:00 +0000", "23 Nov 2026 12:00:00"}) {
        EXPECT_EQ(parse_date(text), noon) << text;
    }
    EXPECT_EQ(parse_date("Mon, 23 Nov 2026 07:00:00 EST"), (date{1795435200, -300}));
    EXPECT_EQ(parse_date("1 Jan 70 00:00 +0000")->unix_time, 0);
}

TEST(parse_date, refuses_what_is_none) {
    for (const char* text :
         {"", "Mon", "Mon 23 Nov 2026 12:00:00 +0000", "Xyz, 23 Nov 2026 12:00:00 +0000",
          "31 Feb 2026 12:00:00 +0000", "0 Nov 2026 12:00 +0000", "23 Nov 2026 24:00:00 +0000",
          "23 Nov 2026 12:60:00 +0000", "23 Nov 2026 12:00:61 +0000", "23 Nov 2026 12:00:00 +00",
          "23 Nov 2026 12:00:00 +0060", "23 Nov 2026 12:00:00 +0000 x", "23 Nov 20266 12:00 +0000",
          "23 Nov 2026 12 +0000", "23 Foo 2026 12:00 +0000", "2026-11-23"}) {
        EXPECT_FALSE(parse_date(text)) << text;
    }
}
