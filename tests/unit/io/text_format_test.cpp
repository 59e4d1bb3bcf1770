#include <coracle/io/text_format.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <locale>
#include <numbers>
#include <stdexcept>
#include <string>
#include <string_view>

// The expected texts are those that [format.string.std] of the standard prescribes.

namespace coracle {
namespace {

using io::format;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

struct named {
    std::string_view name;
    std::string to_string() const { return std::string(name); }
};

TEST(a_format, fills_and_aligns) {
    EXPECT_EQ(format("[{:6}]", 42), "[    42]");
    EXPECT_EQ(format("[{:6}]", 'x'), "[x     ]");
    EXPECT_EQ(format("[{:6}]", true), "[true  ]");
    EXPECT_EQ(format("[{:6}]", "ab"), "[ab    ]");
    EXPECT_EQ(format("[{:6}]", 1.5), "[   1.5]");
    EXPECT_EQ(format("[{:*<6}]", 'x'), "[x*****]");
    EXPECT_EQ(format("[{:*>6}]", 'x'), "[*****x]");
    EXPECT_EQ(format("[{:*^6}]", 'x'), "[**x***]");
    EXPECT_EQ(format("[{:<6}]", 42), "[42    ]");
    EXPECT_EQ(format("[{:^6}]", -42), "[ -42  ]");
    EXPECT_EQ(format("[{:>6}]", "ab"), "[    ab]");
    EXPECT_EQ(format("[{:2}]", "longer"), "[longer]");
    EXPECT_EQ(format("[{:<<4}|{:>^4}|{:^>4}]", 1, 2, 3), "[1<<<|>2>>|^^^3]");
    EXPECT_EQ(format("[{::>4}]", 1), "[:::1]");
    EXPECT_EQ(format("{:}<b>", 1), "1<b>");
}

TEST(a_format, counts_columns_and_not_bytes) {
    EXPECT_EQ(format("[{:5}]", "äöü"), "[äöü  ]");
    EXPECT_EQ(format("[{:*^6}]", "日本"), "[*日本*]");
    EXPECT_EQ(format("[{:3}]", "e\u0301"), "[e\u0301  ]");
    EXPECT_EQ(format("[{:4}]", "🤡"), "[🤡  ]");
    EXPECT_EQ(format("[{:€>4}]", 7), "[€€€7]");
    EXPECT_EQ(format("[{:.3}]", "日本語"), "[日]");
    EXPECT_EQ(format("[{:3}]", "\xFF"), "[\xFF  ]");
    EXPECT_EQ(format("[{:3}]", "\xE6\x97"), "[\xE6\x97 ]");
}

TEST(a_format, has_signs) {
    EXPECT_EQ(format("{0:},{0:+},{0:-},{0: }", 1), "1,+1,1, 1");
    EXPECT_EQ(format("{0:},{0:+},{0:-},{0: }", -1), "-1,-1,-1,-1");
    EXPECT_EQ(format("{0:},{0:+},{0:-},{0: }", infinity), "inf,+inf,inf, inf");
    EXPECT_EQ(format("{0:},{0:+},{0:-},{0: }", no_number), "nan,+nan,nan, nan");
    EXPECT_EQ(format("{:+} {:+}", 0.0, -0.0), "+0 -0");
    EXPECT_EQ(format("{:+}", 7U), "+7");
}

TEST(a_format, writes_integers_in_each_base) {
    EXPECT_EQ(format("{0:b} {0:B} {0:o} {0:d} {0:x} {0:X}", 42), "101010 101010 52 42 2a 2A");
    EXPECT_EQ(format("{0:#b} {0:#B} {0:#o} {0:#d} {0:#x} {0:#X}", 42),
              "0b101010 0B101010 052 42 0x2a 0X2A");
    EXPECT_EQ(format("{:#o} {:#x} {:#b}", 0, 0, 0), "0 0x0 0b0");
    EXPECT_EQ(format("{:#x} {:x}", -255, std::int8_t{-128}), "-0xff -80");
    EXPECT_EQ(format("{:b}", std::numeric_limits<std::int64_t>::min()),
              "-1" + std::string(63, '0'));
    EXPECT_EQ(format("{:X}", std::numeric_limits<std::uint64_t>::max()), "FFFFFFFFFFFFFFFF");
    EXPECT_EQ(format("{:c}{:c}", 65, 0x62U), "Ab");
    EXPECT_EQ(format("[{:3c}]", 65), "[A  ]");
}

TEST(a_format, fills_numbers_with_zeros_behind_their_sign) {
    EXPECT_EQ(format("{:06}", 42), "000042");
    EXPECT_EQ(format("{:06}", -42), "-00042");
    EXPECT_EQ(format("{:+06d}", 120), "+00120");
    EXPECT_EQ(format("{:#010x}", 0x1F), "0x0000001f");
    EXPECT_EQ(format("{:<06}", -42), "-42   ");
    EXPECT_EQ(format("{:08.2f}", -3.14159), "-0003.14");
    EXPECT_EQ(format("[{:06}]", infinity), "[   inf]");
    EXPECT_EQ(format("[{:06}]", -infinity), "[  -inf]");
    EXPECT_EQ(format("{:02}", 123), "123");
}

TEST(a_format, writes_characters_and_bool_as_numbers) {
    EXPECT_EQ(format("{0:d} {0:x} {0:#X} {0:c}", 'x'), "120 78 0X78 x");
    EXPECT_EQ(format("{:d}", '\xFF'), "255");
    EXPECT_EQ(format("{0:d} {0:#b} {0:s} {0:#06x}", true), "1 0b1 true 0x0001");
    EXPECT_EQ(format("{:>6}", false), " false");
}

TEST(a_format, writes_floating_point_in_each_form) {
    constexpr double pi = std::numbers::pi;
    EXPECT_EQ(format("{0:f} {0:e} {0:g} {0:a}", pi),
              "3.141593 3.141593e+00 3.14159 1.921fb54442d18p+1");
    EXPECT_EQ(format("{0:F} {0:E} {0:G} {0:A}", 1e-10),
              "0.000000 1.000000E-10 1E-10 1.B7CDFD9D7BDBBP-34");
    EXPECT_EQ(format("{0:.3f} {0:.3e} {0:.3g} {0:.3a} {0:.3}", pi),
              "3.142 3.142e+00 3.14 1.922p+1 3.14");
    EXPECT_EQ(format("{:.0f} {:.0e} {:.0g}", 2.5, 2.5, 2.5), "2 2e+00 2");
    EXPECT_EQ(format("{:.20f}", 0.1), "0.10000000000000000555");
    EXPECT_EQ(format("{:g} {:g} {:g}", 100000.0, 1000000.0, 0.0001), "100000 1e+06 0.0001");
    EXPECT_EQ(format("{:F} {:E} {:G} {:A}", infinity, no_number, -infinity, infinity),
              "INF NAN -INF INF");
    EXPECT_EQ(format("{} {:.2f}", 1.5F, 0.125F), "1.5 0.12");
    EXPECT_EQ(format("{} {:.1f}", 0.5L, 1e30L), "0.5 1000000000000000000024696061952.0");
    EXPECT_EQ(format("{:10.3f}|{:<10.3f}|{:^+10.3f}", pi, pi, pi),
              "     3.142|3.142     |  +3.142  ");
    const std::string largest = format("{:.3f}", std::numeric_limits<double>::max());
    EXPECT_EQ(largest.size(), 309U + 4U);
    EXPECT_TRUE(largest.starts_with("179769313486231570") && largest.ends_with(".000"));
    EXPECT_EQ(format("{:.200f}", 1.0), "1." + std::string(200, '0'));
    EXPECT_EQ(format("{:.0f}", std::numeric_limits<long double>::max()).size(), 4933U);
}

TEST(a_format, keeps_point_and_zeros_in_the_alternate_form) {
    EXPECT_EQ(format("{:#} {:#.0f} {:#.0e} {:#a}", 1.0, 2.0, 3.0, 1.0), "1. 2. 3.e+00 1.p+0");
    EXPECT_EQ(format("{:#g} {:#g} {:#g}", 1.0, 0.0, 0.0001), "1.00000 0.00000 0.000100000");
    EXPECT_EQ(format("{:#g} {:#.3g} {:#.0g}", 1e10, 1e10, 1e10), "1.00000e+10 1.00e+10 1.e+10");
    EXPECT_EQ(format("{:#G} {:#}", 123456.0, 1e30), "123456. 1.e+30");
    EXPECT_EQ(format("{:#} {:#g}", infinity, no_number), "inf nan");
}

TEST(a_format, cuts_strings_to_a_precision) {
    EXPECT_EQ(format("[{:.2}] [{:5.2s}] [{:*>5.2}]", "abcdef", "abcdef", "abcdef"),
              "[ab] [ab   ] [***ab]");
    EXPECT_EQ(format("[{:.0}] [{:.9}]", "abc", "abc"), "[] [abc]");
    EXPECT_EQ(format("[{:>8.3}]", named{"something"}), "[     som]");
    EXPECT_EQ(format("[{:s}]", named{"it"}), "[it]");
}

TEST(a_format, writes_pointers) {
    const void* at = reinterpret_cast<const void*>(std::uintptr_t{0xBEEF});
    EXPECT_EQ(format("{} {:p}", at, at), "0xbeef 0xbeef");
    EXPECT_EQ(format("[{:10}] [{:<10}] {}", at, at, nullptr), "[    0xbeef] [0xbeef    ] 0x0");
}

/// Groups by two and then three digits; says yes and no.
struct odd_form : std::numpunct<char> {
    char do_thousands_sep() const override { return '_'; }
    char do_decimal_point() const override { return ','; }
    std::string do_grouping() const override { return "\2\3"; }
    std::string do_truename() const override { return "yes"; }
    std::string do_falsename() const override { return "no"; }
};

TEST(a_format, follows_the_locale_of_the_program_where_it_says_so) {
    EXPECT_EQ(format("{:L}|{:.2Lf}|{:L}|{:Lx}", 1234567, 1234.5, true, 0xabcdefU),
              "1234567|1234.50|true|abcdef");
    const std::locale before = std::locale::global(std::locale(std::locale(), new odd_form));
    EXPECT_EQ(format("{:L}|{:L}|{:L}|{:L}", 1234567, -12, 123, 0), "12_345_67|-12|1_23|0");
    EXPECT_EQ(format("{:.2Lf}|{:Le}|{:L}", 1234.5, 1.5, infinity), "12_34,50|1,500000e+00|inf");
    EXPECT_EQ(format("{:L}|{:5L}|{:Ld}", true, false, true), "yes|no   |1");
    EXPECT_EQ(format("{:#Lx}|{:08L}|{:>9L}", 0xabcdefU, 12345, 12345),
              "0xa_bcd_ef|00123_45|   123_45");
    EXPECT_EQ(format("{}|{}", 1234567, 1.5), "1234567|1.5");
    std::locale::global(before);
}

TEST(a_format, escapes_text_and_characters) {
    EXPECT_EQ(format("{:?}", "h\t\"e\"\n\r\\'"), R"("h\t\"e\"\n\r\\'")");
    EXPECT_EQ(format("{:?}|{:?}|{:?}|{:?}", 'x', '\'', '"', '\0'), R"('x'|'\''|'"'|'\u{0}')");
    EXPECT_EQ(format("{:?}", "ä€🤡"), "\"ä€🤡\"");
    EXPECT_EQ(format("{:?}", "a\xC3(\xE2\x82"), R"("a\x{c3}(\x{e2}\x{82}")");
    EXPECT_EQ(format("{:?}", "\u200B\u00A0\x7F"), R"("\u{200b}\u{a0}\u{7f}")");
    EXPECT_EQ(format("[{:*^7?}|{:.3?}]", "ab", "abc"), R"([*"ab"**|"ab])");
}

TEST(a_format, takes_arguments_by_their_numbers) {
    EXPECT_EQ(format("{1} {0} {1:>3}", 'a', 'b'), "b a   b");
    EXPECT_EQ(
        format("{11}{10}{9}{8}{7}{6}{5}{4}{3}{2}{1}{0}", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
        "11109876543210");
}

TEST(a_format, takes_width_and_precision_from_arguments) {
    EXPECT_EQ(format("[{:{}}]", 42, 6), "[    42]");
    EXPECT_EQ(format("[{:*^{}.{}f}]", 3.14159, 9, 2), "[**3.14***]");
    EXPECT_EQ(format("[{0:{2}.{1}}]", "abcdef", 2U, 4LL), "[ab  ]");
    EXPECT_EQ(format("[{:{}}] [{:.{}}]", 1, 0, "abc", 0), "[1] []");
}

TEST(a_format, doubles_braces) {
    EXPECT_EQ(format("{{{}}} {{}} }}{{", 1), "{1} {} }{");
}

TEST(a_format, refuses_at_run_time_what_only_then_is_known) {
    EXPECT_THROW(format("{:{}}", 1, -1), std::invalid_argument);
    EXPECT_THROW(format("{:.{}}", 1.0, -1), std::invalid_argument);
    EXPECT_THROW(format("{:{}}", 1, 1LL << 31), std::invalid_argument);
    EXPECT_THROW(format("{:c}", 128), std::invalid_argument);
    EXPECT_THROW(format("{:c}", -129), std::invalid_argument);
    EXPECT_EQ(format("{:c}", -1), "\xFF");
    EXPECT_EQ(format("{:c}", 127), "\x7F");
}

}  // namespace
}  // namespace coracle
