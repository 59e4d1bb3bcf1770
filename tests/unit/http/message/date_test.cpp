#include "http/message/date.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

using namespace coracle::http;

namespace {

std::string formatted(std::int64_t seconds) {
    std::string text(http_date_size, '?');
    format_http_date(text.data(), seconds);
    return text;
}

}  // namespace

TEST(http_date, formats_an_imf_fixdate) {
    EXPECT_EQ(formatted(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
    EXPECT_EQ(formatted(0), "Thu, 01 Jan 1970 00:00:00 GMT");
    EXPECT_EQ(formatted(-1), "Wed, 31 Dec 1969 23:59:59 GMT");
    EXPECT_EQ(formatted(951782400), "Tue, 29 Feb 2000 00:00:00 GMT");
    EXPECT_EQ(formatted(4107542400), "Mon, 01 Mar 2100 00:00:00 GMT");
    EXPECT_EQ(formatted(253402300799), "Fri, 31 Dec 9999 23:59:59 GMT");
}

TEST(http_date, clamps_times_that_have_no_four_digit_year) {
    EXPECT_EQ(formatted(std::numeric_limits<std::int64_t>::max()), formatted(253402300799));
    EXPECT_EQ(formatted(std::numeric_limits<std::int64_t>::min()), "Sat, 01 Jan 0000 00:00:00 GMT");
}

TEST(http_date, reads_back_what_it_formats) {
    for (std::int64_t time = -62167219200; time < 253402300799; time += 12345678901 / 7 + 86399) {
        EXPECT_EQ(parse_http_date(formatted(time)), time);
    }
    for (std::int64_t day = -800; day < 60000; ++day) {
        EXPECT_EQ(parse_http_date(formatted(day * 86400)), day * 86400) << formatted(day * 86400);
    }
}

TEST(http_date, reads_the_obsolete_forms) {
    EXPECT_EQ(parse_http_date("Sunday, 06-Nov-94 08:49:37 GMT"), 784111777);
    EXPECT_EQ(parse_http_date("Sun Nov  6 08:49:37 1994"), 784111777);
    EXPECT_EQ(parse_http_date("Wed Nov 16 08:49:37 1994"), 784975777);
    EXPECT_EQ(parse_http_date("Saturday, 06-Nov-69 08:49:37 GMT"), 3150953377);
}

TEST(http_date, counts_a_leap_second_as_the_next) {
    EXPECT_EQ(parse_http_date("Sat, 31 Dec 2016 23:59:60 GMT"), 1483228800);
}

TEST(http_date, refuses_everything_else) {
    for (const char* text : {
             "",
             "Sun",
             "Sun,",
             "Mon, 06 Nov 1994 08:49:37 GMT",
             "sun, 06 Nov 1994 08:49:37 GMT",
             "Sun, 6 Nov 1994 08:49:37 GMT",
             "Sun, 06 Nov 1994 08:49:37",
             "Sun, 06 Nov 1994 08:49:37 UTC",
             "Sun, 06 Nov 1994 08:49:37 GMT ",
             "Sun,  06 Nov 1994 08:49:37 GMT",
             "Sun, 06 nov 1994 08:49:37 GMT",
             "Sun, 06 Nov 94 08:49:37 GMT",
             "Sun, 00 Nov 1994 08:49:37 GMT",
             "Thu, 31 Nov 1994 08:49:37 GMT",
             "Tue, 29 Feb 1994 08:49:37 GMT",
             "Sun, 06 Nov 1994 24:49:37 GMT",
             "Sun, 06 Nov 1994 08:60:37 GMT",
             "Sun, 06 Nov 1994 08:49:61 GMT",
             "Sun, 06 Nov 1994 -8:49:37 GMT",
             "Sunday, 06-Nov-1994 08:49:37 GMT",
             "Someday, 06-Nov-94 08:49:37 GMT",
             "Sun Nov 06 08:49:37 94",
             "Sun Nov 6 08:49:37 1994",
             "Sun Nov  6 08:49:37 1994 GMT",
             "784111777",
         }) {
        EXPECT_FALSE(parse_http_date(text)) << text;
    }
}

TEST(cookie_date, reads_the_forms_that_servers_send) {
    constexpr std::int64_t expected = 784111777;
    for (const std::string_view text :
         {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
          "Sun Nov  6 08:49:37 1994", "Sun, 6-Nov-1994 8:49:37", "1994 08:49:37 6 november",
          "08:49:37PST,NOVember/6th/94 BC", "Mon, 06 Nov 94 08:49:37 +0500",
          "6 Nov 1994 08:49:37 Dec 7 1995 09:00:00", "06\tNov\t1994\t08:49:37",
          "xx 6 yy Nov zz 1994x 08:49:37.123", "\xFF 6 Nov 1994 08:49:37"}) {
        EXPECT_EQ(parse_cookie_date(text), expected) << text;
    }
    EXPECT_EQ(parse_cookie_date("1 Jan 70 0:0:0"), 0);
    EXPECT_EQ(parse_cookie_date("1 Jan 69 0:0:0"), 3124224000);
    EXPECT_EQ(parse_cookie_date("1 Jan 00 0:0:0"), 946684800);
    EXPECT_EQ(parse_cookie_date("29 Feb 2000 23:59:59"), 951868799);
    EXPECT_EQ(parse_cookie_date("1 Jan 1601 0:0:0"), -11644473600);
}

TEST(cookie_date, refuses_what_lacks_a_part_or_does_not_exist) {
    for (const std::string_view text : {"",
                                        "nonsense",
                                        "6 Nov 1994",
                                        "Nov 1994 08:49:37",
                                        "6 1994 08:49:37",
                                        "6 Nov 08:49:37",
                                        "30 Feb 2000 0:0:0",
                                        "31 Nov 1994 0:0:0",
                                        "0 Nov 1994 0:0:0",
                                        "32 Nov 1994 0:0:0",
                                        "6 Nov 1994 24:00:00",
                                        "6 Nov 1994 0:60:0",
                                        "6 Nov 1994 0:0:60",
                                        "6 Nov 1994 08:49",
                                        "6 Nov 1994 008:49:37",
                                        "6 Nov 1994 08:49:370",
                                        "6 Nov 1600 0:0:0",
                                        "6 Nov 19940 0:0:0",
                                        "6 Nov 4 0:0:0",
                                        "123 Nov 1994 0:0:0",
                                        "6 No 1994 0:0:0",
                                        "6 Nov 1994 08 :49:37"}) {
        EXPECT_EQ(parse_cookie_date(text), std::nullopt) << text;
    }
}

TEST(cookie_date, reads_back_what_is_formatted) {
    for (std::int64_t time = -11644473600; time < 253402300799; time += 12345678901 / 7 + 86399) {
        EXPECT_EQ(parse_cookie_date(formatted(time)), time);
    }
}
