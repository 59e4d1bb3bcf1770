#include <coracle/smtp/sts_policy.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace std::chrono_literals;
using smtp::sts_mode;
using smtp::sts_policy;

namespace {

constexpr std::string_view good =
    "version: STSv1\r\nmode: enforce\r\nmx: mail.example.com\r\nmx: *.Example.NET\r\n"
    "mx: backupmx.example.com\r\nmax_age: 604800\r\n";

std::string fault_of(std::string_view text) {
    const auto read = sts_policy::parse(text);
    return read ? "none" : std::string(read.error().subject());
}

std::string without(std::string_view line) {
    std::string text(good);
    return text.erase(text.find(line), line.size() + 2);
}

}  // namespace

TEST(sts_policy, reads_that_of_the_rfc) {
    const auto p = sts_policy::parse(good, 1000);
    ASSERT_TRUE(p) << p.error();
    EXPECT_EQ(p->mode, sts_mode::enforce);
    EXPECT_EQ(p->mx, (std::vector<std::string>{"mail.example.com", "*.example.net",
                                               "backupmx.example.com"}));
    EXPECT_EQ(p->max_age, 604'800s);
    EXPECT_TRUE(p->holds(1000 + 604'799));
    EXPECT_FALSE(p->holds(1000 + 604'800));
    EXPECT_TRUE(sts_policy::parse(good)->holds(4'000'000'000));
}

TEST(sts_policy, takes_line_feeds_blanks_unknown_keys_and_the_first_of_two) {
    const auto p = sts_policy::parse(
        "version:STSv1\nmode : testing \n\nmode: enforce\nfuture_key: x\nmx:a.b\nmax_age:0");
    ASSERT_TRUE(p) << p.error();
    EXPECT_EQ(p->mode, sts_mode::testing);
    EXPECT_EQ(p->mx, std::vector<std::string>{"a.b"});
    EXPECT_EQ(sts_policy::parse("version: STSv1\nmode: none\nmax_age: 1\n")->mode, sts_mode::none);
}

TEST(sts_policy, names_what_is_missing_or_wrong) {
    EXPECT_EQ(fault_of(""), "version is missing");
    EXPECT_EQ(fault_of(without("version: STSv1")), "version is missing");
    EXPECT_EQ(fault_of(without("mode: enforce")), "mode is missing");
    EXPECT_EQ(fault_of(without("max_age: 604800")), "max_age is missing");
    EXPECT_EQ(fault_of("version: STSv1\nmode: enforce\nmax_age: 1"), "mx is missing");
    EXPECT_EQ(fault_of("version: STSv2\n"), "version");
    EXPECT_EQ(fault_of("version: STSv1\nmode: Enforce\n"), "mode");
    for (const char* age : {"", "-1", "1 2", "12345678901", "1s"}) {
        EXPECT_EQ(fault_of(std::string("max_age: ") + age + '\n'), "max_age") << age;
    }
    for (const char* mx : {"", "*", "*.", "com", "a..b", "a.b.", ".a.b", "a.*.b", "*a.b", "a b.c",
                           "a.b/c", "\xc3\xbc.example"}) {
        EXPECT_EQ(fault_of(std::string("mx: ") + mx + '\n'), "mx") << mx;
    }
    EXPECT_EQ(fault_of("no colon\n"), "a line without a colon");
}

TEST(sts_policy, has_limits) {
    EXPECT_EQ(sts_policy::parse("version: STSv1\nmode: none\nmax_age: 9999999999\n")->max_age,
              31'557'600s);
    std::string text(good);
    text += "x: ";
    text.resize(sts_policy::most_bytes, 'x');
    EXPECT_EQ(fault_of(text), "none");
    EXPECT_EQ(fault_of(text + 'x'), "it is too long");
    std::string many = "version: STSv1\nmode: enforce\nmax_age: 1\n";
    for (std::size_t i = 0; i != sts_policy::most_patterns; ++i) many += "mx: a.b\n";
    EXPECT_EQ(fault_of(many), "none");
    EXPECT_EQ(fault_of(many + "mx: a.b\n"), "mx");
}

TEST(sts_policy, matches_a_name_or_all_that_are_one_label_below) {
    const auto p = sts_policy::parse(good);
    ASSERT_TRUE(p);
    for (const char* host : {"mail.example.com", "MAIL.example.COM", "mail.example.com.",
                             "a.example.net", "mx-1.EXAMPLE.net"}) {
        EXPECT_TRUE(p->allows(host)) << host;
    }
    for (const char* host : {"example.com", "x.mail.example.com", "example.net", ".example.net",
                             "a.b.example.net", "xexample.net", "mail.example.comx", ""}) {
        EXPECT_FALSE(p->allows(host)) << host;
    }
}
