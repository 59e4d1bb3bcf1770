#include <coracle/base/url.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

using namespace coracle;
using namespace std::literals;

namespace {

// The normal form, or the sentence that says why there is none.
std::string normal(std::string_view text) {
    const auto u = url::parse(text);
    return u ? std::string(u->text()) : "! " + std::string(u.error().subject());
}

std::string resolved(std::string_view base, std::string_view reference) {
    const auto u = url::parse(base)->resolve(reference);
    return u ? std::string(u->text()) : "! " + std::string(u.error().subject());
}

struct row {
    std::string_view text;
    std::string_view result;
};

}  // namespace

TEST(url, has_the_parts_of_its_text) {
    const url u = url::parse("https://us%65r:p%40ss%3a@Example.COM:8443/a/b?x=1&y#top").value();
    EXPECT_EQ(u.text(), "https://user:p%40ss%3A@example.com:8443/a/b?x=1&y#top");
    EXPECT_EQ(u.redacted(), "https://example.com:8443/a/b?x=1&y");
    EXPECT_EQ(u.scheme(), "https");
    EXPECT_TRUE(u.has_user());
    EXPECT_EQ(u.user(), "user");
    EXPECT_EQ(u.password(), "p@ss:");
    EXPECT_EQ(u.host(), "example.com");
    EXPECT_FALSE(u.host_is_ipv6());
    EXPECT_EQ(u.port(), 8443);
    EXPECT_EQ(u.authority(), "example.com:8443");
    EXPECT_EQ(u.path(), "/a/b");
    EXPECT_TRUE(u.has_query());
    EXPECT_EQ(u.query(), "x=1&y");
    EXPECT_EQ(u.target(), "/a/b?x=1&y");
    EXPECT_EQ(u.fragment(), "top");
}

TEST(url, with_few_parts_has_empty_ones) {
    const url u = url::parse("http://h").value();
    EXPECT_EQ(u.text(), "http://h/");
    EXPECT_EQ(u.target(), "/");
    EXPECT_EQ(u.authority(), "h");
    EXPECT_FALSE(u.has_query() || u.has_user());
    EXPECT_EQ(u.query(), "");
    EXPECT_EQ(u.fragment(), "");
    EXPECT_EQ(u.user() + u.password(), "");
    const url six = url::parse("http://[::1]:81?").value();
    EXPECT_EQ(six.text(), "http://[::1]:81/?");
    EXPECT_EQ(six.host(), "::1");
    EXPECT_TRUE(six.host_is_ipv6());
    EXPECT_EQ(six.authority(), "[::1]:81");
    EXPECT_TRUE(six.has_query());
    EXPECT_EQ(six.target(), "/?");
}

TEST(url, that_is_none_has_only_empty_parts_also_when_its_text_was_moved_away) {
    url from = url::parse("http://a:b@c:1/d?e#f").value();
    const url to = std::move(from);
    EXPECT_EQ(to.text(), "http://a:b@c:1/d?e#f");
    for (const url* u : {&std::as_const(from)}) {  // NOLINT(bugprone-use-after-move)
        EXPECT_TRUE(u->empty());
        EXPECT_EQ(u->redacted() + u->user() + u->password(), "");
        EXPECT_TRUE(u->scheme().empty() && u->host().empty() && u->authority().empty());
        EXPECT_TRUE(u->path().empty() && u->target().empty() && u->query().empty());
        EXPECT_TRUE(u->fragment().empty() && u->port() == 0 && !u->has_user());
        EXPECT_TRUE(*u == url());
    }
    EXPECT_THROW(from.add_query("a", "b"), exception);
    EXPECT_THROW(from.set_fragment("a"), exception);
    EXPECT_TRUE(from.remove_user().empty());
    from = to;
    EXPECT_EQ(from, to);
}

TEST(url, is_kept_in_normal_form) {
    const row rows[] = {
        {"HTTP://EXAMPLE.com", "http://example.com/"},
        {"  http://a  ", "http://a/"},
        {"http://a:80/", "http://a/"},
        {"http://a:/", "http://a/"},
        {"http://a:0443/", "http://a:443/"},
        {"https://a:443", "https://a/"},
        {"ws://a:80", "ws://a/"},
        {"foo+1.x://a:80", "foo+1.x://a:80/"},
        {"http://a?q", "http://a/?q"},
        {"http://a#f", "http://a/#f"},
        {"http://a/#", "http://a/#"},
        {"http://a/b/../c/./d", "http://a/c/d"},
        {"http://a/../../b", "http://a/b"},
        {"http://a/b/..", "http://a/"},
        {"http://a/b/.", "http://a/b/"},
        {"http://a/%2e%2E/b/%2e", "http://a/b/"},
        {"http://a//b///../c", "http://a//b//c"},
        {"http://a/...", "http://a/..."},
        {"http://a/.b/..c", "http://a/.b/..c"},
        {"http://a/.%2e/b/%2E./c/%2e/", "http://a/c/"},
        {"http://a/%2e%2e%2e/b/%2ec", "http://a/%2e%2e%2e/b/%2ec"},
        // Escapes are as they were; what may not stand there is escaped.
        {"http://a/%7eb%2f%c3%a9", "http://a/%7eb%2f%c3%a9"},
        {"http://a/?%7eb%2f%2F%#%7e", "http://a/?%7eb%2f%2F%25#%7e"},
        {"http://a/b c\"<>^`{|}[]", "http://a/b%20c%22%3C%3E%5E%60%7B%7C%7D%5B%5D"},
        {"http://a/\xc3\xa9?\xc3\xa9 \\#\xc3\xa9", "http://a/%C3%A9?%C3%A9%20%5C#%C3%A9"},
        {"http://a/100%?50%zz%4", "http://a/100%25?50%25zz%254"},
        {"http://a/%%34%31", "http://a/%25%34%31"},
        {"http://a/?#a#b?", "http://a/?#a%23b?"},
        {"http://@a/", "http://a/"},
        {"http://:@a/", "http://a/"},
        {"http://u:@a/", "http://u@a/"},
        {"http://:p@a/", "http://:p@a/"},
        {"http://u:p:q@a/", "http://u:p:q@a/"},
        {"http://u \xc3\xa9:50%@a/", "http://u%20%C3%A9:50%25@a/"},
        {"http://a_b.-c-.d./", "http://a_b.-c-.d./"},
        {"http://ex%41mple.com/", "http://example.com/"},
    };
    for (const row& r : rows) {
        EXPECT_EQ(normal(r.text), r.result) << r.text;
        EXPECT_EQ(normal(r.result), r.result);
    }
}

TEST(url, takes_names_beyond_ascii) {
    const row rows[] = {
        {"http://b\xc3\xbc"
         "cher.example/",
         "http://xn--bcher-kva.example/"},
        {"http://B\xc3\x9c"
         "CHER.example/",
         "http://xn--bcher-kva.example/"},
        {"http://b%C3%BCcher.example/", "http://xn--bcher-kva.example/"},
        {"http://fa\xc3\x9f.de/", "http://xn--fa-hia.de/"},
        {"http://\xe4\xbe\x8b\xe3\x81\x88\xe3\x80\x82\xe3\x83\x86\xe3\x82\xb9\xe3\x83\x88/",
         "http://xn--r8jz45g.xn--zckzah/"},
        {"http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"},
        // Full-width digits are digits, and then it is an address.
        {"http://\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1/", "http://127.0.0.1/"},
        {"http://\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.1/",
         "! the host ends in a number and is no IPv4 address, which is four decimal numbers "
         "without "
         "leading zeros"},
        // U+2100 is mapped to "a/c", which ends a host.
        {"http://x\xe2\x84\x80y.example/", "! the host has a character that names cannot have"},
        {"http://\xc3\x28/", "! the host has a character that names cannot have"},
        {"http://\xff/", "! the host is not a valid internationalized name"},
        {"http://a\xcc\x88\xe2\x80\xae.b/", "! the host is not a valid internationalized name"},
    };
    for (const row& r : rows) EXPECT_EQ(normal(r.text), r.result) << r.text;
}

TEST(url, takes_addresses_in_their_one_form) {
    const row rows[] = {
        {"http://127.0.0.1/", "http://127.0.0.1/"},
        {"http://255.255.255.255/", "http://255.255.255.255/"},
        {"http://1.2.3.4.example/", "http://1.2.3.4.example/"},
        {"http://[0:0:0:0:0:0:0:1]/", "http://[::1]/"},
        {"http://[::]/", "http://[::]/"},
        {"http://[2001:DB8:0:0:8:800:200C:417A]/", "http://[2001:db8::8:800:200c:417a]/"},
        {"http://[2001:0:0:1:0:0:0:1]/", "http://[2001:0:0:1::1]/"},
        {"http://[2001:db8:0:0:1:0:0:1]/", "http://[2001:db8::1:0:0:1]/"},
        {"http://[1:2:3:4:5:6:7::]/", "http://[1:2:3:4:5:6:7:0]/"},
        {"http://[1::]:8/", "http://[1::]:8/"},
        {"http://[::ffff:127.0.0.1]/", "http://[::ffff:127.0.0.1]/"},
        {"http://[::FFFF:7f00:1]/", "http://[::ffff:127.0.0.1]/"},
        {"http://[1:2:3:4:5:6:7.8.9.10]/", "http://[1:2:3:4:5:6:708:90a]/"},
        {"http://[0:0:0:0:0:fffe:1.2.3.4]/", "http://[::fffe:102:304]/"},
    };
    for (const row& r : rows) EXPECT_EQ(normal(r.text), r.result) << r.text;
    for (const std::string_view host :
         {"1", "127.1", "127.0.0.01", "0x7f.1", "a.0x", "256.0.0.1", "1.2.3", "1.2.3.4.5",
          "2130706433", "127.0.0.1.", "0127.0.0.1", "1..2", "1.2.3.999999999999", "a.1",
          "0X7F.1"}) {
        const auto u = url::parse("http://" + std::string(host) + "/");
        ASSERT_FALSE(u) << host;
        EXPECT_EQ(u.error(), std::errc::invalid_argument);
    }
    for (const std::string_view host : {"",
                                        ":",
                                        "1",
                                        ":::",
                                        "1::2::3",
                                        "1:2:3:4:5:6:7",
                                        "1:2:3:4:5:6:7:8:9",
                                        "12345::",
                                        "g::",
                                        "1:2:3:4:5:6:7:8::",
                                        "::1:2:3:4:5:6:7:8",
                                        "::1.2.3",
                                        "::1.2.3.4.5",
                                        "::01.2.3.4",
                                        "1.2.3.4::",
                                        "1:2:3:4:5:6:7:1.2.3.4",
                                        ":1::",
                                        "1:",
                                        "::1:",
                                        "1.2.3.4",
                                        "::1.2.3.4:5",
                                        "v1.a",
                                        " ::1"}) {
        EXPECT_EQ(normal("http://[" + std::string(host) + "]/"),
                  "! the text in brackets is not an IPv6 address")
            << host;
    }
}

TEST(url, refuses_what_two_readers_take_for_two_things) {
    const std::string_view no_port = "! the port is not a number from 1 to 65535";
    const std::string_view no_name = "! the host has a character that names cannot have";
    const std::string_view control = "! a control byte stands in it";
    const std::string_view backslash = "! a backslash stands before the query";
    const std::string_view two =
        "! a second \"@\" stands before the path: in a password it is \"%40\"";
    const std::string_view no_scheme = "! it does not begin with a scheme, such as \"http://\"";
    const row rows[] = {
        {"", "! it is empty"},
        {"   ", "! it is empty"},
        {"example.com", no_scheme},
        {"//example.com", no_scheme},
        {"/a", no_scheme},
        {"1http://a", no_scheme},
        {"ht tp://a", no_scheme},
        {"://a", no_scheme},
        {"localhost:80/a", "! no \"//\" follows the scheme"},
        {"mailto:a@b", "! no \"//\" follows the scheme"},
        {"http:/a", "! no \"//\" follows the scheme"},
        {"http:\\\\a", "! no \"//\" follows the scheme"},
        {"http://", "! the host is empty"},
        {"http:///a", "! the host is empty"},
        {"http://:80", "! the host is empty"},
        {"http://u@", "! the host is empty"},
        {"http://a\\b/", backslash},
        {"http://a\\@b/", backslash},
        {"http://a/b\\c", backslash},
        {"http://a@b@c/", two},
        {"http://a b/", no_name},
        {"http://a%20b/", no_name},
        {"http://a%2fb/", no_name},
        {"http://a%40b/", no_name},
        {"http://a%5cb/", no_name},
        {"http://a*b/", no_name},
        {"http://a]/", no_name},
        {"http://a,b/", no_name},
        {"http://a%zz/", "! a \"%\" in the host begins no two hexadecimal digits"},
        {"http://a%2/", "! a \"%\" in the host begins no two hexadecimal digits"},
        {"http://a%00b/", control},
        {"http://a\tb/", control},
        {"http://a/\r\nb", control},
        {"http://a/?\n", control},
        {"http://a/#\x7f", control},
        {"http://a/\0"sv, control},
        {"http://u\n@a/", control},
        {"http://a:0/", no_port},
        {"http://a:65536/", no_port},
        {"http://a:-1/", no_port},
        {"http://a:+1/", no_port},
        {"http://a:8 /", no_port},
        {"http://a:8x/", no_port},
        {"http://a:99999999999999999999/", no_port},
        {"http://a:1:2/", no_port},
        {"http://u:p/w@h/", no_port},
        {"http://.a/", "! a part of the host's name is empty"},
        {"http://a..b/", "! a part of the host's name is empty"},
        {"http://./", "! a part of the host's name is empty"},
        {"http://a../", "! a part of the host's name is empty"},
        {"http://[::1/", "! a host that begins with \"[\" must end with \"]\""},
        {"http://[::1]a/", "! a host that begins with \"[\" must end with \"]\""},
        {"http://[fe80::1%25eth0]/", "! an IPv6 address with a zone is valid on this machine only"},
        {"http://[fe80::1%1]/", "! an IPv6 address with a zone is valid on this machine only"},
    };
    for (const row& r : rows) EXPECT_EQ(normal(r.text), r.result) << r.text;
}

TEST(url, has_a_longest_host_label_and_text) {
    const std::string label(63, 'a');
    EXPECT_TRUE(url::parse("http://" + label + "/"));
    EXPECT_EQ(normal("http://" + label + "a/"),
              "! a part of the host's name is longer than 63 bytes");
    const std::string name = label + "." + label + "." + label + "." + std::string(61, 'b');
    EXPECT_TRUE(url::parse("http://" + name + "./"));
    EXPECT_EQ(normal("http://" + name + "b/"), "! the host is longer than 253 bytes");

    const std::string longest = "http://a/" + std::string(url::max_size - 9, 'x');
    const url u = url::parse(longest).value();
    for (const std::string& text :
         {longest + "x", "http://a/" + std::string(url::max_size / 2, ' ') + "x"}) {
        const auto refused = url::parse(text);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error(), errc::limit_exceeded);
        EXPECT_EQ(refused.error().subject(), "url::max_size");
    }
    EXPECT_EQ(u.resolve("?y").error(), errc::limit_exceeded);
    EXPECT_EQ(u.resolve(longest + "x").error(), errc::limit_exceeded);
    EXPECT_TRUE(u.resolve("y"));
    url grown = u;
    EXPECT_THROW(grown.add_query("a", "b"), exception);
    EXPECT_THROW(grown.set_fragment("a"), exception);
    EXPECT_EQ(grown, u);
}

TEST(url, tells_no_secret_in_an_error) {
    for (const std::string_view text :
         {"http://user:geheim@a@b/", "http://user:geheim/x@b/", "http://user:geheim@/",
          "http://user:geheim@b:x/", "http://user:geheim@1/", "user:geheim@b"}) {
        EXPECT_EQ(url::parse(text).error().message().find("geheim"), std::string::npos) << text;
    }
}

TEST(url, knows_the_ports_of_schemes) {
    const std::pair<std::string_view, int> rows[] = {
        {"http", 80}, {"https", 443}, {"ws", 80},       {"wss", 443},      {"ftp", 21},
        {"smtp", 25}, {"smtps", 465}, {"socks4", 1080}, {"socks5h", 1080}, {"gopher", 0},
    };
    for (const auto& [scheme, port] : rows) {
        EXPECT_EQ(url::parse(std::string(scheme) + "://a")->port(), port) << scheme;
    }
}

TEST(url_resolve, gives_the_examples_of_rfc_3986) {
    // Section 5.4, but for "g:h", which names no authority.
    const row rows[] = {
        {"g", "http://a/b/c/g"},
        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},
        {"/g", "http://a/g"},
        {"//g", "http://g/"},
        {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},
        {"#s", "http://a/b/c/d;p?q#s"},
        {"g#s", "http://a/b/c/g#s"},
        {"g?y#s", "http://a/b/c/g?y#s"},
        {";x", "http://a/b/c/;x"},
        {"g;x", "http://a/b/c/g;x"},
        {"g;x?y#s", "http://a/b/c/g;x?y#s"},
        {"", "http://a/b/c/d;p?q"},
        {".", "http://a/b/c/"},
        {"./", "http://a/b/c/"},
        {"..", "http://a/b/"},
        {"../", "http://a/b/"},
        {"../g", "http://a/b/g"},
        {"../..", "http://a/"},
        {"../../", "http://a/"},
        {"../../g", "http://a/g"},
        {"../../../g", "http://a/g"},
        {"../../../../g", "http://a/g"},
        {"/./g", "http://a/g"},
        {"/../g", "http://a/g"},
        {"g.", "http://a/b/c/g."},
        {".g", "http://a/b/c/.g"},
        {"g..", "http://a/b/c/g.."},
        {"..g", "http://a/b/c/..g"},
        {"./../g", "http://a/b/g"},
        {"./g/.", "http://a/b/c/g/"},
        {"g/./h", "http://a/b/c/g/h"},
        {"g/../h", "http://a/b/c/h"},
        {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
        {"g;x=1/../y", "http://a/b/c/y"},
        {"g?y/./x", "http://a/b/c/g?y/./x"},
        {"g?y/../x", "http://a/b/c/g?y/../x"},
        {"g#s/./x", "http://a/b/c/g#s/./x"},
        {"g#s/../x", "http://a/b/c/g#s/../x"},
        {"http:g", "http://a/b/c/g"},
        {"g:h", "! no \"//\" follows the scheme"},
    };
    for (const row& r : rows) {
        EXPECT_EQ(resolved("http://a/b/c/d;p?q", r.text), r.result) << r.text;
        EXPECT_EQ(resolved("http://a/b/c/d;p?q#old", r.text), r.result) << r.text;
    }
}

TEST(url, is_kept_as_it_is_where_that_is_asked_for) {
    const auto kept = [](std::string_view text) {
        const auto u = url::parse(text, url_path::as_is);
        return u ? std::string(u->text()) : "! " + std::string(u.error().subject());
    };
    const row rows[] = {
        {"HTTP://A:80", "http://a/"},
        {"http://a/b/../%2e%2E/./%7e%2f//", "http://a/b/../%2e%2E/./%7e%2f//"},
        {"http://a/[]^`{|}%%4?[\\]^`{|}%#%|", "http://a/[]^`{|}%%4?[\\]^`{|}%#%|"},
        {"http://a/ \"<>\xc3\xa9? \"<>\xc3\xa9", "http://a/%20%22%3C%3E%C3%A9?%20%22%3C%3E%C3%A9"},
        {"http://u|:p^@a/|", "http://u%7C:p%5E@a/|"},
        {"http://a/\\b", "! a backslash stands before the query"},
        {"http://a/\x01", "! a control byte stands in it"},
    };
    for (const row& r : rows) EXPECT_EQ(kept(r.text), r.result) << r.text;
}

TEST(url_resolve, resolves_the_dots_of_a_base_that_was_kept_as_it_is) {
    const url base = *url::parse("http://h/a/b/../%2e%2E/./c%2f?q", url_path::as_is);
    const row rows[] = {{"../x", "http://h/x"},
                        {"d", "http://h/d"},
                        {"./d/../e", "http://h/e"},
                        {"?r", "http://h/a/b/../%2e%2E/./c%2f?r"}};
    for (const row& r : rows) EXPECT_EQ(base.resolve(r.text)->text(), r.result) << r.text;
    for (const char* text : {"http://h/a/./b", "http://h/a/%2E/b", "http://h/x/../a/b"}) {
        EXPECT_EQ(url::parse(text, url_path::as_is)->resolve("c")->text(), "http://h/a/c") << text;
    }
    const url odd = *url::parse("http://h/%41/%|/.b/c", url_path::as_is);
    EXPECT_EQ(odd.resolve("d")->text(), "http://h/%41/%|/.b/d");
}

TEST(url_resolve, takes_what_location_fields_hold) {
    const std::string_view base = "https://u:p@a:8443/b?q#f";
    const row rows[] = {
        {"/c", "https://u:p@a:8443/c"},
        {"#x", "https://u:p@a:8443/b?q#x"},
        {"?", "https://u:p@a:8443/b?"},
        {"//a:8443/c", "https://a:8443/c"},
        {"//c:443", "https://c/"},
        {"http://C:80/\xc3\xa9 ", "http://c/%C3%A9"},
        {"HTTPS:/c", "! no \"//\" follows the scheme"},
        {"HTTPS://c", "https://c/"},
        {" c d ", "https://u:p@a:8443/c%20d"},
        {"a/b:c", "https://u:p@a:8443/a/b:c"},
        {"%2e%2e/x", "https://u:p@a:8443/x"},
        // The bytes stay that a request can carry.
        {"/%7e%2f|{}^`[]%?%3d|\\%#%|", "https://u:p@a:8443/%7e%2f|{}^`[]%?%3d|\\%#%|"},
        {"//c/|/./%", "https://c/|/%"},
        {"https://c/%/../|", "https://c/|"},
        {"/\"<>#\"<>", "https://u:p@a:8443/%22%3C%3E#%22%3C%3E"},
        {"\\\\c", "! a backslash stands before the query"},
        {"/\\c", "! a backslash stands before the query"},
        {"c\r\nSet-Cookie: d", "! a control byte stands in it"},
        {"///c", "! the host is empty"},
        {"javascript:alert(1)", "! no \"//\" follows the scheme"},
    };
    for (const row& r : rows) EXPECT_EQ(resolved(base, r.text), r.result) << r.text;
    EXPECT_EQ(url().resolve("http://a")->text(), "http://a/");
    EXPECT_FALSE(url().resolve("/a"));
    const url moved = url::parse(base)->resolve("//c/d?e#f").value();
    EXPECT_FALSE(moved.has_user());
    EXPECT_EQ(moved.port(), 443);
    EXPECT_EQ(moved.target(), "/d?e");
}

TEST(url, compares_origins) {
    const auto same = [](std::string_view a, std::string_view b) {
        return url::parse(a)->same_origin(*url::parse(b));
    };
    EXPECT_TRUE(same("http://a/b", "HTTP://A:80/c"));
    EXPECT_TRUE(same("https://u@a", "https://a?q"));
    EXPECT_FALSE(same("http://a", "https://a"));
    EXPECT_FALSE(same("http://a:443", "https://a"));
    EXPECT_FALSE(same("http://a", "http://a:81"));
    EXPECT_FALSE(same("http://a", "http://a."));
}

TEST(url, is_changed_part_by_part) {
    url u = url::parse("http://u:p@h:1/p#f").value();
    u.add_query("a b", "1&2=%\xc3\xa9~");
    EXPECT_EQ(u.text(), "http://u:p@h:1/p?a+b=1%262%3D%25%C3%A9~#f");
    u.add_query("c", "");
    EXPECT_EQ(u.query(), "a+b=1%262%3D%25%C3%A9~&c=");
    u.remove_user().remove_user();
    EXPECT_EQ(u.text(), "http://h:1/p?a+b=1%262%3D%25%C3%A9~&c=#f");
    EXPECT_EQ(u.user() + u.password(), "");
    EXPECT_EQ(u.host(), "h");
    EXPECT_EQ(u.path(), "/p");
    EXPECT_EQ(u.fragment(), "f");
    EXPECT_EQ(u.set_fragment("x y%20").fragment(), "x%20y%20");
    EXPECT_EQ(u.set_fragment("").text(), "http://h:1/p?a+b=1%262%3D%25%C3%A9~&c=");
    EXPECT_EQ(url::parse("http://h?")->add_query("a", "b").text(), "http://h/?a=b");
}
