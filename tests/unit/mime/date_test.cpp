#include "support/environment_variable.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/mime/date.hpp>
#include <coracle/process/command.hpp>
#include <coracle/runtime/runtime.hpp>

#include <gtest/gtest.h>

#include <array>
#include <clocale>
#include <ctime>
#include <iomanip>
#include <locale>
#include <sstream>
#include <string>

using namespace coracle::mime;

namespace {

// A locale of which no day and no month has its English name.
constexpr const char* foreign_time = R"(comment_char %
escape_char /
LC_TIME
abday "Aa";"Bb";"Cc";"Dd";"Ee";"Ff";"Gg"
day "Aaa";"Bbb";"Ccc";"Ddd";"Eee";"Fff";"Ggg"
abmon "aa";"bb";"cc";"dd";"ee";"ff";"gg";"hh";"ii";"jj";"kk";"ll"
mon "aaa";"bbb";"ccc";"ddd";"eee";"fff";"ggg";"hhh";"iii";"jjj";"kkk";"lll"
d_t_fmt "%a"
d_fmt "%d"
t_fmt "%T"
am_pm "";""
t_fmt_ampm ""
END LC_TIME
)";
constexpr const char* ascii = R"(<code_set_name> ASCII
<comment_char> %
<escape_char> /
CHARMAP
<U0000>..<U007F> /x00 all
END CHARMAP
)";

/// Names of C++: each is "X".
class foreign_names final : public std::time_put<char> {
    iter_type do_put(iter_type out, std::ios_base&, char, const std::tm*, char,
                     char) const override {
        *out++ = 'X';
        return out;
    }
};

/// The locale of the whole program, of C and of C++, while it lives.
class foreign_locale {
public:
    foreign_locale() {
        folder_.write("time", foreign_time);
        folder_.write("ascii", ascii);
        const auto path = [this](const char* name) { return (folder_.path() / name).string(); };
        coracle::process::command make("localedef");
        // Warns, and returns 1, since it says nothing but the names of days and months.
        make.args("-c", "-f", path("ascii"), "-i", path("time"), path("xx_XX"));
        said_ = coracle::block_on([&]() -> coracle::task<std::string> {
            auto running = make.capture();
            auto done = co_await std::move(running);
            co_return done.error;
        });
        // Not std::locale("xx_XX"): glibc leaks LOCPATH there.
        std::locale::global(std::locale(std::locale::classic(), new foreign_names));
        std::setlocale(LC_ALL, "xx_XX");
    }
    ~foreign_locale() { std::locale::global(std::locale::classic()); }
    foreign_locale(const foreign_locale&) = delete;
    foreign_locale& operator=(const foreign_locale&) = delete;

    const std::string& said() const noexcept { return said_; }

private:
    coracle::testing::temporary_directory folder_;
    environment_variable path_{"LOCPATH", folder_.path().c_str()};
    std::string said_;
};

}  // namespace

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

TEST(format_date, is_english_in_any_locale) {
    const foreign_locale here;
    // Others go by it.
    std::tm thursday{};
    thursday.tm_wday = 4;
    thursday.tm_mon = 10;
    std::array<char, 20> text{};
    ASSERT_EQ(std::strftime(text.data(), text.size(), "%a %b", &thursday), 5u);
    ASSERT_EQ(std::string(text.data()), "Ee kk") << here.said();
    std::ostringstream out;
    out << std::put_time(&thursday, "%a %b");
    ASSERT_EQ(out.str(), "X X");

    EXPECT_EQ(format_date({1795478591, 60}), "Tue, 24 Nov 2026 01:03:11 +0100");
    EXPECT_EQ(parse_date("Tue, 24 Nov 2026 01:03:11 +0100"), (date{1795478591, 60}));
    EXPECT_FALSE(parse_date("Cc, 24 kk 2026 01:03:11 +0100"));
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
          "mon, 23 nov 126 12:00:00 Z", "23 Nov 2026 12:00:00 +0000 (a\\)b)",
          "Mon, 23 Nov 2026 12:00:00 XYZ", "Mon, 23 Nov 2026\r\n 12:00:00 +0000",
          "23 Nov 2026 12:00:00"}) {
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
          "23 Nov 2026 12 +0000", "23 Foo 2026 12:00 +0000", "2026-11-23",
          "23 Nov 2026 12:00:00 +0000 (a", "23 Nov 2026 12:00:00 (a",
          "23 Nov 2026 12:00:00 +0000 (a\\)"}) {
        EXPECT_FALSE(parse_date(text)) << text;
    }
}
