#include <coracle/connect/overrides.hpp>
#include <coracle/connect/proxy.hpp>
#include <coracle/connect/proxy_environment.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

using namespace coracle;
using namespace coracle::connect;

namespace {

/// Returns a parsed proxy URL in one line.
std::string read(std::string_view url) {
    const auto p = proxy::parse(url);
    if (!p) return p.error().message();
    std::string text = p->to_string();
    if (p->has_credentials()) text += ' ' + p->user() + ' ' + std::string(p->password().reveal());
    return text;
}

bool bypasses(std::string_view list, std::string_view host, std::uint16_t port = 80) {
    return bypasses_proxy(list, host, port);
}

std::string found(const overrides& o, std::string_view host, std::uint16_t port) {
    const auto all = o.find(host, port);
    if (!all) return "none";
    std::string text;
    for (const net::address& a : *all) text += (text.empty() ? "" : " ") + a.to_string();
    return text;
}

}  // namespace

TEST(proxy, is_read_from_a_url) {
    EXPECT_EQ(read("http://host:3128"), "http://host:3128");
    EXPECT_EQ(read("host:8080"), "http://host:8080");
    EXPECT_EQ(read("HTTPS://host/path?query"), "https://host:443");
    EXPECT_EQ(read("http://host"), "http://host:1080");
    EXPECT_EQ(read("socks5h://[::1]"), "socks5h://[::1]:1080");
    EXPECT_EQ(read("socks5://[2001:db8::1]:9"), "socks5://[2001:db8::1]:9");
    EXPECT_EQ(read("http://[fe80::1%25eth0]:9"), "http://[fe80::1%eth0]:9");
    EXPECT_EQ(read("http://[fe80::1%eth0]:9"), "http://[fe80::1%eth0]:9");
    EXPECT_EQ(read("socks4a://host:1"), "socks4a://host:1");
    EXPECT_EQ(read("socks://host:65535"), "socks4://host:65535");
}

TEST(proxy, has_its_user_and_password_decoded) {
    EXPECT_EQ(read("http://joe:s%40c%3aret@host:1"), "http://host:1 joe s@c:ret");
    EXPECT_EQ(read("joe:a@b@host"), "http://host:1080 joe a@b");
    EXPECT_EQ(read("socks5://joe@host"), "socks5://host:1080 joe ");
    EXPECT_EQ(proxy::parse("http://joe:secret@host")->basic_authorization().reveal(),
              "Basic am9lOnNlY3JldA==");
    EXPECT_TRUE(proxy::parse("http://host")->basic_authorization().empty());
}

TEST(proxy, that_makes_no_sense_is_refused_without_telling_its_password) {
    for (const char* url :
         {"", "http://", "http://:80", "ftp://host", "http://host:0", "http://host:65536",
          "http://host:80x", "http://[::1", "http://[::1]x", "http://joe:secret%zz@host",
          "http://joe:secret@", "http://a b:1", "http://joe:secret@h\r\nost:1",
          // A password that is not encoded, or without a host.
          "http://joe:secret#x@host:3128", "http://joe:secret?x@host", "http://joe:12/secret@host",
          "joe:secret/@host", "joe:secret://x@host", "joe:sec://secret@host", "secret://x@host",
          "http://joe:x://secret@host", "http://joe:secret", "http://host/secret@host"}) {
        const auto p = proxy::parse(url);
        ASSERT_FALSE(p) << url;
        EXPECT_EQ(p.error(), std::errc::invalid_argument);
        EXPECT_EQ(p.error().message().find("secret"), std::string::npos) << p.error();
    }
}

TEST(proxy, equals_one_that_connections_can_be_shared_with) {
    const auto p = proxy::parse("http://joe:secret@host:1").value();
    EXPECT_EQ(p, proxy::parse("http://joe:secret@host:1").value());
    EXPECT_NE(p, proxy::parse("http://joe:other@host:1").value());
    EXPECT_NE(p, proxy::parse("http://host:1").value());
    EXPECT_NE(p, proxy::parse("https://joe:secret@host:1").value());
}

TEST(no_proxy, names_hosts_with_all_below_them) {
    for (const char* list : {"example.com", ".example.com", "*.example.com", "EXAMPLE.com.",
                             " x , example.com,", "x example.com"}) {
        EXPECT_TRUE(bypasses(list, "example.com")) << list;
        EXPECT_TRUE(bypasses(list, "www.Example.com.")) << list;
        EXPECT_TRUE(bypasses(list, "a.b.example.com")) << list;
        EXPECT_FALSE(bypasses(list, "badexample.com")) << list;
        EXPECT_FALSE(bypasses(list, "example.com.org")) << list;
        EXPECT_FALSE(bypasses(list, "com")) << list;
    }
    EXPECT_TRUE(bypasses("*", "anything"));
    EXPECT_TRUE(bypasses("a,*", "192.0.2.1"));
    EXPECT_FALSE(bypasses("", "example.com"));
    EXPECT_FALSE(bypasses(" , ,", "example.com"));
    EXPECT_FALSE(bypasses(".", "example.com"));
}

TEST(no_proxy, names_addresses_and_networks) {
    EXPECT_TRUE(bypasses("192.0.2.1", "192.0.2.1"));
    EXPECT_FALSE(bypasses("192.0.2.1", "192.0.2.10"));
    EXPECT_FALSE(bypasses("2.1", "192.0.2.1"));
    EXPECT_TRUE(bypasses("10.0.0.0/8", "10.255.0.1"));
    EXPECT_FALSE(bypasses("10.0.0.0/8", "11.0.0.1"));
    EXPECT_TRUE(bypasses("::ffff:10.0.0.0/104", "10.255.0.1"));
    EXPECT_FALSE(bypasses("::ffff:10.0.0.0/104", "11.0.0.1"));
    EXPECT_TRUE(bypasses("[::ffff:10.0.0.1]", "10.0.0.1"));
    EXPECT_TRUE(bypasses("10.1.2.3/8", "10.255.0.1"));
    EXPECT_TRUE(bypasses("192.0.2.128/25", "192.0.2.200"));
    EXPECT_FALSE(bypasses("192.0.2.128/25", "192.0.2.127"));
    EXPECT_TRUE(bypasses("0.0.0.0/0", "192.0.2.1"));
    EXPECT_TRUE(bypasses("2001:db8::/32", "[2001:db8:1::1]"));
    EXPECT_TRUE(bypasses("2001:db8::/32", "2001:db8:1::1"));
    EXPECT_FALSE(bypasses("2001:db8::/32", "2001:db9::1"));
    EXPECT_TRUE(bypasses("2001:0db8:0::1", "[2001:db8::1]"));
    EXPECT_TRUE(bypasses("[2001:db8::1]", "2001:db8::1"));
    EXPECT_FALSE(bypasses("10.0.0.0/8", "ten.example"));
    for (const char* list : {"10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "/8", "x/8",
                             "10.0.0.0/99999999999"}) {
        EXPECT_FALSE(bypasses(list, "10.0.0.1")) << list;
    }
}

TEST(no_proxy, names_ports) {
    EXPECT_TRUE(bypasses("example.com:8080", "www.example.com", 8080));
    EXPECT_FALSE(bypasses("example.com:8080", "www.example.com", 80));
    EXPECT_TRUE(bypasses("[2001:db8::1]:81", "2001:db8::1", 81));
    EXPECT_FALSE(bypasses("[2001:db8::1]:81", "2001:db8::1", 82));
    EXPECT_TRUE(bypasses("192.0.2.1:80", "192.0.2.1", 80));
    EXPECT_FALSE(bypasses("192.0.2.1:80", "192.0.2.1", 81));
    EXPECT_FALSE(bypasses("example.com:x", "example.com"));
}

TEST(no_proxy, has_no_opinion_on_loopback) {
    EXPECT_FALSE(bypasses("example.com", "localhost"));
    EXPECT_FALSE(bypasses("example.com", "127.0.0.1"));
    EXPECT_TRUE(bypasses("localhost,127.0.0.0/8", "127.1.2.3"));
}

TEST(proxy_environment, has_a_proxy_for_each_scheme) {
    const proxy_environment e("one:1", "two:2", "socks5h://all", "direct.example");
    const auto where = [&](std::string_view scheme, std::string_view host = "boats") {
        const auto p = e.find(scheme, host, 80);
        if (!p) return p.error().message();
        return *p == nullptr ? "none" : (*p)->to_string();
    };
    EXPECT_EQ(where("http"), "http://one:1");
    EXPECT_EQ(where("ws"), "http://one:1");
    EXPECT_EQ(where("https"), "http://two:2");
    EXPECT_EQ(where("wss"), "http://two:2");
    EXPECT_EQ(where("smtp"), "socks5h://all:1080");
    EXPECT_EQ(where("https", "www.direct.example"), "none");
    const proxy_environment rest("", "", "all:3", "");
    EXPECT_EQ((*rest.find("http", "boats", 80))->to_string(), "http://all:3");
    EXPECT_EQ(*proxy_environment().find("http", "boats", 80), nullptr);
}

TEST(proxy_environment, fails_where_a_url_that_cannot_be_read_is_asked_for) {
    const proxy_environment e("ftp://joe:secret@one", "two:2", "", "direct");
    const auto p = e.find("http", "boats", 80);
    ASSERT_FALSE(p);
    EXPECT_EQ(p.error(), std::errc::invalid_argument);
    EXPECT_EQ(p.error().message().find("secret"), std::string::npos);
    EXPECT_TRUE(e.find("https", "boats", 443));
    EXPECT_TRUE(e.find("http", "direct", 80));
}

TEST(proxy_environment, is_read_from_the_variables_but_never_HTTP_PROXY) {
    for (const char* name : {"http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTPS_PROXY",
                             "ALL_PROXY", "NO_PROXY"}) {
        ::unsetenv(name);
    }
    ::setenv("HTTP_PROXY", "evil:1", 1);
    EXPECT_EQ(*proxy_environment::read().find("http", "boats", 80), nullptr);
    ::setenv("http_proxy", "one:1", 1);
    ::setenv("HTTPS_PROXY", "upper:2", 1);
    ::setenv("NO_PROXY", "direct", 1);
    const auto e = proxy_environment::read();
    ::setenv("https_proxy", "lower:2", 1);
    EXPECT_EQ((*e.find("http", "boats", 80))->to_string(), "http://one:1");
    EXPECT_EQ((*e.find("https", "boats", 80))->to_string(), "http://upper:2");
    EXPECT_EQ(*e.find("https", "direct", 80), nullptr);
    EXPECT_EQ((*proxy_environment::read().find("https", "boats", 80))->to_string(),
              "http://lower:2");
}

TEST(overrides, give_addresses_for_host_and_port) {
    overrides o;
    EXPECT_TRUE(o.empty());
    EXPECT_TRUE(o.add("*:80:192.0.2.9"));
    EXPECT_TRUE(o.add("Boats.example:80:192.0.2.1,[2001:db8::1],2001:db8::2"));
    EXPECT_TRUE(o.add("boats.example:*:192.0.2.2"));
    EXPECT_TRUE(o.add("[2001:db8::5]:443:192.0.2.5"));
    EXPECT_EQ(found(o, "boats.EXAMPLE.", 80), "192.0.2.1:80 [2001:db8::1]:80 [2001:db8::2]:80");
    EXPECT_EQ(found(o, "boats.example", 443), "192.0.2.2:443");
    EXPECT_EQ(found(o, "other", 80), "192.0.2.9:80");
    EXPECT_EQ(found(o, "other", 81), "none");
    EXPECT_EQ(found(o, "[2001:db8::5]", 443), "192.0.2.5:443");
    EXPECT_FALSE(o.empty());
}

TEST(overrides, refuse_what_makes_no_sense) {
    overrides o;
    for (const char* entry :
         {"", ":", "::", "host", "host:80", "host:80:", "host:0:192.0.2.1", "host:x:192.0.2.1",
          "host:65536:192.0.2.1", "host:80:name", "host:80:192.0.2.1,,192.0.2.2", ":80:192.0.2.1",
          "[::1:80:192.0.2.1", "host:80:192.0.2.1:80"}) {
        const auto added = o.add(entry);
        ASSERT_FALSE(added) << entry;
        EXPECT_EQ(added.error(), std::errc::invalid_argument);
    }
    EXPECT_TRUE(o.empty());
}
