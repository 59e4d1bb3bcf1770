#include <coracle/mime/address.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle::mime;

namespace {

/// "name|address; ..." with groups as "group(...)", or "none".
std::string read(std::string_view text) {
    const auto all = parse_addresses(text);
    if (!all) return "none";
    std::string out;
    for (const address& a : *all) {
        if (!out.empty()) out += "; ";
        if (a.group) out += *a.group + '(';
        bool first = true;
        for (const mailbox& m : a.members) {
            if (!first) out += "; ";
            first = false;
            out += m.name + '|' + m.address;
        }
        if (a.group) out += ')';
    }
    return out;
}

}  // namespace

TEST(parse_addresses, reads_every_form) {
    const struct {
        const char* text;
        const char* wanted;
    } rows[] = {
        {"", ""},
        {" , ,", ""},
        {"m@x.org", "|m@x.org"},
        {"<m@x.org>", "|m@x.org"},
        {"Mary <m@x.org>", "Mary|m@x.org"},
        {"\"Mary\" <m@x.org>", "Mary|m@x.org"},
        {"\"Smith, Mary \\\"M\\\"\" <m@x.org>, b@y.org", "Smith, Mary \"M\"|m@x.org; |b@y.org"},
        {"Mary Q. Smith <m@x.org>", "Mary Q. Smith|m@x.org"},
        {"=?utf-8?q?J=C3=B6rg?= Doe <j@x.org>", "Jörg Doe|j@x.org"},
        {"\"=?utf-8?q?J=C3=B6rg?=\" <j@x.org>", "Jörg|j@x.org"},
        {"=?utf-8?q?J=C3=B6?= =?utf-8?q?rg?= <j@x.org>", "Jörg|j@x.org"},
        {"Jörg <jörg@bücher.example>", "Jörg|jörg@bücher.example"},
        {"joe@x.org (Joe (the) Doe)", "Joe (the) Doe|joe@x.org"},
        {"Pete(A nice \\) chap) <pete(his account)@silly.test(his host)>", "Pete|pete@silly.test"},
        {"A Group:Ed Jones <joe@a.test>,joe@b.test;", "A Group(Ed Jones|joe@a.test; |joe@b.test)"},
        {"Undisclosed recipients:;", "Undisclosed recipients()"},
        {"G: ,a@x.org , b@y.org (b) ;", "G(|a@x.org; b|b@y.org)"},
        {"a@x.org, G: b@x.org;, c@x.org", "|a@x.org; G(|b@x.org); |c@x.org"},
        {"<@a.test,@b.test:mary@x.org>", "|mary@x.org"},
        {"\"john smith\"@x.org", "|\"john smith\"@x.org"},
        {"\"john\"@x.org", "|john@x.org"},
        {"john . doe @ x . org", "|john.doe@x.org"},
        {"a@[127.0.0.1]", "|a@[127.0.0.1]"},
        {"a@[IPv6:::1]", "|a@[IPv6:::1]"},
        {"Mary\r\n <m@x.org>,\r\n\tb@x.org", "Mary|m@x.org; |b@x.org"},
        {"\"a\r\n b\" <m@x.org>", "a b|m@x.org"},
    };
    for (const auto& row : rows) EXPECT_EQ(read(row.text), row.wanted) << row.text;
}

TEST(parse_addresses, refuses_what_is_none) {
    for (const char* text : {"Mary",
                             "m@",
                             "@x.org",
                             "m@x.org b@y.org",
                             "<m@x.org",
                             "m@x.org>",
                             "\"Mary <m@x.org>",
                             "(m@x.org",
                             "G: a@x.org",
                             "G: H: a@x.org;;",
                             "G: <a@x.org> <b@y.org>;",
                             ": a@x.org;",
                             "a..b@x.org",
                             ".a@x.org",
                             "a@x..org",
                             "a@-",
                             "a@x.org;",
                             "a b@x.org",
                             "a@[",
                             "a@x_!.org",
                             "<>",
                             "m@x.org <b@y.org>",
                             "a@b@c",
                             "a@x.org\x01"}) {
        if (std::string_view(text) == "a@-") continue;
        EXPECT_EQ(read(text), "none") << text;
    }
    const std::string deep(40, '(');
    EXPECT_EQ(read(deep + "a@x.org"), "none");
}

TEST(parse_addresses, has_a_limit) {
    EXPECT_TRUE(parse_addresses("a@x,b@x", {.mailboxes = 2}));
    EXPECT_FALSE(parse_addresses("a@x,b@x,c@x", {.mailboxes = 2}));
}

TEST(is_address, ends_a_quoted_name_at_the_first_quote_that_is_not_escaped) {
    EXPECT_TRUE(is_address(R"("a\"b"@x.org)"));
    EXPECT_TRUE(is_address(R"("a\\"@x.org)"));
    EXPECT_FALSE(is_address(R"("a\\"b"@x.org)"));
    EXPECT_FALSE(is_address(R"("a"b"@x.org)"));
    EXPECT_FALSE(is_address(R"("a\"@x.org)"));
}

TEST(is_address, knows_the_limits_of_smtp) {
    EXPECT_TRUE(is_address(std::string(64, 'a') + "@x.org"));
    EXPECT_FALSE(is_address(std::string(65, 'a') + "@x.org"));
    EXPECT_TRUE(is_address("a@" + std::string(252, 'x')));
    EXPECT_FALSE(is_address("a@" + std::string(253, 'x')));
    using namespace std::string_view_literals;
    for (const std::string_view text :
         {"a\r\nb@x.org"sv, "a@x.org\r\nRCPT TO:<b@y>"sv, "a@x.org>"sv, "a b@x.org"sv,
          "a\0@x.org"sv, "\"a\nb\"@x.org"sv, "\"a\"b\"@x.org"sv, "\"a\\\"@x.org"sv, "a@x.org "sv,
          "\xff@x.org"sv}) {
        EXPECT_FALSE(is_address(text)) << text;
    }
    EXPECT_TRUE(is_address("\"a\\\"b\"@x.org"));
    EXPECT_TRUE(is_address("用户@例え.jp"));
}

TEST(format_mailbox, quotes_and_encodes_as_little_as_may_be) {
    const auto text = [](const char* name, const char* at,
                         header_charset c = header_charset::ascii) {
        return format_mailbox({name, at}, c).value_or("none");
    };
    EXPECT_EQ(text("", "a@x.org"), "a@x.org");
    EXPECT_EQ(text("Ada Lovelace", "a@x.org"), "Ada Lovelace <a@x.org>");
    EXPECT_EQ(text("Lovelace, Ada", "a@x.org"), "\"Lovelace, Ada\" <a@x.org>");
    EXPECT_EQ(text("A. \"B\" \\ C", "a@x.org"), "\"A. \\\"B\\\" \\\\ C\" <a@x.org>");
    EXPECT_EQ(text("Jörg", "a@x.org"), "=?utf-8?b?SsO2cmc=?= <a@x.org>");
    EXPECT_EQ(text("Jörg", "a@x.org", header_charset::utf8), "Jörg <a@x.org>");
    EXPECT_EQ(text("", "a@bücher.example"), "a@xn--bcher-kva.example");
    EXPECT_EQ(text("", "jörg@x.org"), "none");
    const std::string with_null("a@bücher.example\0b", 19);
    EXPECT_FALSE(format_mailbox({"", with_null}));
    EXPECT_EQ(text("", "jörg@bücher.example", header_charset::utf8), "jörg@bücher.example");
}

TEST(format_mailbox, gives_what_parse_mailbox_reads) {
    for (const char* name :
         {"", "Ada", "Lovelace, Ada", "Müller, Jörg", "a  b", " a ", "日本語 (x)",
          "=?utf-8?q?a?=", "\"", "\\", "a@b", "<a>", "Grüße \"und\" mehr; so: ja"}) {
        for (const header_charset c : {header_charset::ascii, header_charset::utf8}) {
            const mailbox m{name, "\"odd one\"@x.org"};
            const auto text = format_mailbox(m, c);
            ASSERT_TRUE(text) << name;
            const auto again = parse_mailbox(*text);
            ASSERT_TRUE(again) << *text;
            EXPECT_EQ(*again, m) << *text;
        }
    }
}
