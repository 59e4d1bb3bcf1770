#include <coracle/http/cookie_jar.hpp>

#include <gtest/gtest.h>

#include <thread>

using namespace coracle;
using namespace coracle::http;
using verdict = cookie_verdict;

namespace {

constexpr std::int64_t now = 1'800'000'000;
constexpr std::int64_t day = 86400;

url at(std::string_view text) {
    return url::parse(text).value();
}

/// Returns the cookies that are sent back to the place they came from.
std::string echoed(std::string_view line, std::string_view where = "https://home.example.org/a/b") {
    cookie_jar jar;
    jar.receive(at(where), line, now);
    return jar.cookies_for(at(where), now);
}

verdict judged(std::string_view line, std::string_view where) {
    cookie_jar jar;
    const verdict v = jar.receive(at(where), line, now);
    EXPECT_EQ(jar.size(), v == verdict::stored ? 1u : 0u) << line;
    return v;
}

std::string sent_to(cookie_jar& jar, std::string_view where, std::int64_t when = now) {
    return jar.cookies_for(at(where), when);
}

}  // namespace

TEST(cookie_jar, takes_all_cookies_of_a_response) {
    cookie_jar jar;
    fields res;
    res.add("Set-Cookie", "a=1");
    res.add("content-type", "text/plain");
    res.add("set-cookie", "b=2; Path=/");
    res.add("SET-COOKIE", "c=3; Max-Age=0");
    jar.receive(at("http://example.com/x/y"), res, now);
    EXPECT_EQ(sent_to(jar, "http://example.com/x/"), "a=1; b=2");
    EXPECT_EQ(sent_to(jar, "http://example.com/"), "b=2");
    EXPECT_EQ(sent_to(jar, "http://www.example.com/x/"), "");
}

// The subjects are those of the http-state project's tests.
TEST(cookie_jar, reads_names_and_values_as_browsers_do) {
    EXPECT_EQ(echoed("foo=bar"), "foo=bar");
    EXPECT_EQ(echoed("foo=bar; Expires=Fri, 07 Aug 2037 08:04:19 GMT"), "foo=bar");
    EXPECT_EQ(echoed("foo=bar;"), "foo=bar");
    EXPECT_EQ(echoed(" foo = bar ;"), "foo=bar");
    EXPECT_EQ(echoed("foo\t=\tbar\t; ttt"), "foo=bar");
    EXPECT_EQ(echoed("foo=bar=baz"), "foo=bar=baz");
    EXPECT_EQ(echoed("foo= bar baz "), "foo=bar baz");
    EXPECT_EQ(echoed("foo=\"bar; baz\""), "foo=\"bar");
    EXPECT_EQ(echoed("foo=\"bar\""), "foo=\"bar\"");
    EXPECT_EQ(echoed("foo="), "foo=");
    EXPECT_EQ(echoed("foo=a\tb"), "foo=a\tb");
    EXPECT_EQ(echoed("foo bar=\xC3\xA4,\"$"), "foo bar=\xC3\xA4,\"$");
    EXPECT_EQ(echoed("foo=b; secret; unknown=1; ; =; Version=1"), "foo=b");
}

TEST(cookie_jar, keeps_cookies_without_a_name) {
    EXPECT_EQ(echoed("bar"), "bar");
    EXPECT_EQ(echoed("=bar"), "bar");
    EXPECT_EQ(echoed("==bar"), "=bar");
    EXPECT_EQ(echoed("=a=b"), "a=b");
    EXPECT_EQ(judged("", "https://a.org/"), verdict::malformed);
    EXPECT_EQ(judged("=", "https://a.org/"), verdict::malformed);
    EXPECT_EQ(judged(" ; Path=/", "https://a.org/"), verdict::malformed);
}

TEST(cookie_jar, refuses_control_bytes) {
    for (const std::string_view bad :
         {std::string_view("a=b\0c", 5), std::string_view("a=b\r\nSet-Cookie: c"),
          std::string_view("a\x1f=b"), std::string_view("a=\x7f"),
          std::string_view("a=b; Path=/\x01")}) {
        EXPECT_EQ(judged(bad, "https://a.org/"), verdict::malformed) << bad;
    }
}

TEST(cookie_jar, holds_the_limits_on_sizes_to_the_byte) {
    EXPECT_EQ(judged("n=" + std::string(4095, 'v'), "https://a.org/"), verdict::stored);
    EXPECT_EQ(judged("n=" + std::string(4096, 'v'), "https://a.org/"), verdict::too_large);
    EXPECT_EQ(judged(std::string(4096, 'n') + "=", "https://a.org/"), verdict::stored);
    EXPECT_EQ(judged(std::string(4097, 'n') + "=", "https://a.org/"), verdict::too_large);
    EXPECT_EQ(judged(std::string(4097, 'v'), "https://a.org/"), verdict::too_large);
    // An attribute that is too long is none.
    const std::string path = "/" + std::string(1023, 'p');
    EXPECT_EQ(echoed("a=b; Path=" + path, "https://a.org/x/y"), "");
    EXPECT_EQ(echoed("a=b; Path=" + path + "p", "https://a.org/x/y"), "a=b");
    EXPECT_EQ(echoed("a=b; Domain=" + std::string(1024, 'd'), "https://a.org/x/y"), "");
    EXPECT_EQ(echoed("a=b; Domain=" + std::string(1025, 'd'), "https://a.org/x/y"), "a=b");
    EXPECT_EQ(echoed("a=b; x=" + std::string(5'000'000, 'x') + std::string(100'000, ';')), "a=b");
}

TEST(cookie_jar, gives_a_domain_to_the_hosts_below_it) {
    cookie_jar jar;
    const url home = at("https://www.example.com/");
    EXPECT_EQ(jar.receive(home, "a=1; Domain=example.com", now), verdict::stored);
    EXPECT_EQ(jar.receive(home, "b=2; domain=.Example.COM", now), verdict::stored);
    EXPECT_EQ(jar.receive(home, "c=3", now), verdict::stored);
    EXPECT_EQ(jar.receive(home, "d=4; Domain=", now), verdict::stored);
    EXPECT_EQ(jar.receive(home, "e=5; Domain=evil.org; Domain=www.example.com", now),
              verdict::stored);
    EXPECT_EQ(sent_to(jar, "https://www.example.com/"), "a=1; b=2; c=3; d=4; e=5");
    EXPECT_EQ(sent_to(jar, "https://example.com/"), "a=1; b=2");
    EXPECT_EQ(sent_to(jar, "https://x.y.example.com/"), "a=1; b=2");
    EXPECT_EQ(sent_to(jar, "https://x.www.example.com/"), "a=1; b=2; e=5");
    EXPECT_EQ(sent_to(jar, "https://badexample.com/"), "");
    EXPECT_EQ(sent_to(jar, "https://example.com.evil.org/"), "");
    EXPECT_EQ(sent_to(jar, "https://com/"), "");
}

TEST(cookie_jar, refuses_cookies_for_other_sites) {
    const std::string_view home = "https://www.example.com/";
    EXPECT_EQ(judged("a=1; Domain=other.com", home), verdict::other_site);
    EXPECT_EQ(judged("a=1; Domain=sub.www.example.com", home), verdict::other_site);
    EXPECT_EQ(judged("a=1; Domain=ww.example.com", home), verdict::other_site);
    EXPECT_EQ(judged("a=1; Domain=w.example.com", home), verdict::other_site);
    EXPECT_EQ(judged("a=1; Domain=ample.com", home), verdict::other_site);
    EXPECT_EQ(judged("a=1; Domain=example.com.", home), verdict::malformed);
    EXPECT_EQ(judged("a=1; Domain=..example.com", home), verdict::malformed);
    EXPECT_EQ(judged("a=1; Domain=.", home), verdict::stored);
    EXPECT_EQ(judged("a=1; Domain=ex\xC3\xA4mple.com", home), verdict::malformed);
    EXPECT_EQ(judged("a=1; Domain=example.com; Domain=other.com", home), verdict::other_site);
}

TEST(cookie_jar, refuses_cookies_for_public_suffixes) {
    EXPECT_EQ(judged("a=1; Domain=com", "https://www.example.com/"), verdict::public_suffix);
    EXPECT_EQ(judged("a=1; Domain=.com", "https://example.com/"), verdict::public_suffix);
    EXPECT_EQ(judged("a=1; Domain=co.uk", "https://example.co.uk/"), verdict::public_suffix);
    EXPECT_EQ(judged("a=1; Domain=uk", "https://example.co.uk/"), verdict::public_suffix);
    EXPECT_EQ(judged("a=1; Domain=github.io", "https://me.github.io/"), verdict::public_suffix);
    EXPECT_EQ(judged("a=1; Domain=example.co.uk", "https://www.example.co.uk/"), verdict::stored);
    EXPECT_EQ(judged("a=1; Domain=internal", "https://www.internal/"), verdict::public_suffix);
    // The host of a suffix may have cookies, which stay its own.
    cookie_jar jar;
    EXPECT_EQ(jar.receive(at("https://github.io/"), "a=1; Domain=github.io", now), verdict::stored);
    EXPECT_EQ(jar.receive(at("https://localhost/"), "b=1; Domain=localhost", now), verdict::stored);
    EXPECT_EQ(sent_to(jar, "https://github.io/"), "a=1");
    EXPECT_EQ(sent_to(jar, "https://me.github.io/"), "");
    EXPECT_EQ(sent_to(jar, "https://localhost/"), "b=1");
}

TEST(cookie_jar, knows_addresses_from_names) {
    cookie_jar jar;
    EXPECT_EQ(jar.receive(at("http://127.0.0.1/"), "a=1; Domain=127.0.0.1", now), verdict::stored);
    EXPECT_EQ(jar.receive(at("http://127.0.0.1/"), "b=1; Domain=0.0.1", now), verdict::other_site);
    EXPECT_EQ(jar.receive(at("http://127.0.0.1/"), "b=1; Domain=1", now), verdict::other_site);
    EXPECT_EQ(jar.receive(at("http://[::1]:8080/"), "c=1", now), verdict::stored);
    EXPECT_EQ(sent_to(jar, "http://127.0.0.1:9/"), "a=1");
    EXPECT_EQ(sent_to(jar, "http://[::1]/"), "c=1");
    EXPECT_EQ(sent_to(jar, "http://[::2]/"), "");
}

TEST(cookie_jar, matches_paths_by_their_segments) {
    cookie_jar jar;
    const url home = at("http://a.org/one/two/three?x=/y/");
    jar.receive(home, "default=1", now);
    jar.receive(home, "one=1; Path=/one", now);
    jar.receive(home, "slash=1; Path=/one/", now);
    jar.receive(home, "relative=1; Path=one", now);
    jar.receive(home, "last=1; Path=/x; Path=/", now);
    jar.receive(home, "none=1; Path=/x; Path=", now);
    EXPECT_EQ(sent_to(jar, "http://a.org/one/two"),
              "default=1; relative=1; none=1; slash=1; one=1; last=1");
    EXPECT_EQ(sent_to(jar, "http://a.org/one/twofold"), "slash=1; one=1; last=1");
    EXPECT_EQ(sent_to(jar, "http://a.org/one"), "one=1; last=1");
    EXPECT_EQ(sent_to(jar, "http://a.org/one?/one/"), "one=1; last=1");
    EXPECT_EQ(sent_to(jar, "http://a.org/oneself"), "last=1");
    EXPECT_EQ(sent_to(jar, "http://a.org/ONE/"), "last=1");
    EXPECT_EQ(echoed("a=1", "http://a.org/"), "a=1");
    EXPECT_EQ(echoed("a=1", "http://a.org"), "a=1");
}

TEST(cookie_jar, sends_longest_path_first_then_the_oldest) {
    cookie_jar jar;
    const url home = at("http://a.org/x/y/");
    for (const std::string_view line :
         {"a=1; Path=/", "b=2; Path=/x/y", "c=3; Path=/", "d=4; Path=/x", "a=5; Path=/"}) {
        jar.receive(home, line, now);
    }
    // A cookie that is replaced keeps its place.
    EXPECT_EQ(jar.cookies_for(home, now), "b=2; d=4; a=5; c=3");
}

TEST(cookie_jar, replaces_a_cookie_of_the_same_name_domain_and_path) {
    cookie_jar jar;
    const url home = at("https://a.org/");
    jar.receive(home, "a=1", now);
    jar.receive(home, "a=2; Secure; HttpOnly", now);
    jar.receive(home, "A=3", now);
    jar.receive(home, "a=4; Domain=a.org", now);  // not host-only: another one
    jar.receive(home, "a=5; Path=/x", now);
    EXPECT_EQ(jar.size(), 4u);
    EXPECT_EQ(sent_to(jar, "https://a.org/x"), "a=5; a=2; A=3; a=4");
    EXPECT_EQ(sent_to(jar, "http://a.org/x"), "a=5; A=3; a=4");
    EXPECT_EQ(jar.receive(home, "a=; Max-Age=0", now), verdict::removed);
    EXPECT_EQ(jar.size(), 3u);
}

TEST(cookie_jar, forgets_what_expires) {
    cookie_jar jar;
    const url home = at("https://a.org/");
    jar.receive(home, "a=1; Max-Age=10", now);
    jar.receive(home, "b=1; Expires=Fri, 15 Jan 2027 08:00:20 GMT", now);
    jar.receive(home, "c=1; Max-Age=30; Expires=Thu, 01 Jan 1970 00:00:00 GMT", now);
    jar.receive(home, "d=1", now);
    EXPECT_EQ(jar.cookies_for(home, now + 9), "a=1; b=1; c=1; d=1");
    EXPECT_EQ(jar.cookies_for(home, now + 10), "b=1; c=1; d=1");
    EXPECT_EQ(jar.cookies_for(home, now + 19), "b=1; c=1; d=1");
    EXPECT_EQ(jar.cookies_for(home, now + 20), "c=1; d=1");
    EXPECT_EQ(jar.list(now + 30).size(), 1u);
    EXPECT_EQ(jar.size(), 2u);
    EXPECT_EQ(jar.cookies_for(home, now + 10'000 * day), "d=1");
    EXPECT_EQ(jar.size(), 1u);
    jar.clear_session();
    EXPECT_EQ(jar.size(), 0u);
}

TEST(cookie_jar, reads_max_age_as_clients_must) {
    const auto expires = [](std::string_view attributes) {
        cookie_jar jar;
        jar.receive(at("https://a.org/"), std::string("a=1; ").append(attributes), now);
        const auto all = jar.list(now);
        return all.empty() ? std::optional<std::int64_t>(-1) : all[0].expires;
    };
    EXPECT_EQ(expires("Max-Age=1"), now + 1);
    EXPECT_EQ(expires("max-age=0010"), now + 10);
    EXPECT_EQ(expires("Max-Age=0"), -1);
    EXPECT_EQ(expires("Max-Age=-1"), -1);
    EXPECT_EQ(expires("Max-Age=-99999999999999999999999"), -1);
    EXPECT_EQ(expires("Max-Age="), std::nullopt);
    EXPECT_EQ(expires("Max-Age=-"), std::nullopt);
    EXPECT_EQ(expires("Max-Age=+1"), std::nullopt);
    EXPECT_EQ(expires("Max-Age=1x"), std::nullopt);
    EXPECT_EQ(expires("Max-Age=5; Max-Age=x"), now + 5);
    EXPECT_EQ(expires("Max-Age=34560000"), now + 400 * day);
    EXPECT_EQ(expires("Max-Age=34560001"), now + 400 * day);
    EXPECT_EQ(expires("Max-Age=99999999999999999999999"), now + 400 * day);
    EXPECT_EQ(expires("Expires=Fri, 31-Dec-9999 23:59:59 GMT"), now + 400 * day);
    EXPECT_EQ(expires("Expires=nonsense"), std::nullopt);
}

TEST(cookie_jar, sends_secure_cookies_over_tls_only) {
    cookie_jar jar;
    jar.receive(at("https://a.org/"), "a=1; Secure", now);
    jar.receive(at("wss://a.org/"), "b=1; secure=anything", now);
    EXPECT_EQ(sent_to(jar, "https://a.org/"), "a=1; b=1");
    EXPECT_EQ(sent_to(jar, "wss://a.org/"), "a=1; b=1");
    EXPECT_EQ(sent_to(jar, "http://a.org/"), "");
    EXPECT_EQ(sent_to(jar, "ws://a.org/"), "");
    EXPECT_EQ(judged("a=1; Secure", "http://a.org/"), verdict::insecure);
    EXPECT_EQ(judged("a=1; Secure", "http://localhost/"), verdict::insecure);
}

TEST(cookie_jar, lets_no_plain_connection_set_aside_a_secure_cookie) {
    cookie_jar jar;
    jar.receive(at("https://www.a.org/"), "s=1; Secure; Path=/login; Domain=a.org", now);
    for (const std::string_view line :
         {"s=2; Path=/login", "s=2; Path=/login/x", "s=2; Path=/login; Domain=a.org",
          "s=; Max-Age=0; Path=/login; Domain=a.org"}) {
        EXPECT_EQ(jar.receive(at("http://www.a.org/"), line, now), verdict::insecure) << line;
        EXPECT_EQ(jar.receive(at("http://x.www.a.org/"), line, now), verdict::insecure) << line;
    }
    EXPECT_EQ(jar.receive(at("http://a.org/login/"), "s=2", now), verdict::insecure);
    // Other paths, names and sites are free, and so is TLS.
    EXPECT_EQ(jar.receive(at("http://www.a.org/"), "s=2; Path=/", now), verdict::stored);
    EXPECT_EQ(jar.receive(at("http://www.a.org/login/"), "t=2", now), verdict::stored);
    EXPECT_EQ(jar.receive(at("http://b.org/login/"), "s=2", now), verdict::stored);
    EXPECT_EQ(jar.receive(at("https://a.org/login/"), "s=3", now), verdict::stored);
    EXPECT_EQ(sent_to(jar, "https://a.org/login"), "s=1; s=3");
}

TEST(cookie_jar, lets_a_secure_cookie_that_has_expired_be_set_aside) {
    cookie_jar jar;
    jar.receive(at("https://a.org/"), "s=1; Secure; Max-Age=5", now);
    EXPECT_EQ(jar.receive(at("http://a.org/"), "s=2", now + 4), verdict::insecure);
    EXPECT_EQ(jar.receive(at("http://a.org/"), "s=2", now + 1000), verdict::stored);
}

TEST(cookie_jar, keeps_to_the_prefixes_of_names) {
    const std::string_view tls = "https://www.a.org/";
    EXPECT_EQ(judged("__Secure-a=1; Secure", tls), verdict::stored);
    EXPECT_EQ(judged("__Secure-a=1", tls), verdict::prefix);
    EXPECT_EQ(judged("__sEcURe-a=1", tls), verdict::prefix);
    EXPECT_EQ(judged("__Host-a=1; Secure; Path=/", tls), verdict::stored);
    EXPECT_EQ(judged("__Host-a=1; Path=/", tls), verdict::prefix);
    EXPECT_EQ(judged("__host-a=1; Secure; Path=/x", tls), verdict::prefix);
    EXPECT_EQ(judged("__host-a=1; Secure", tls), verdict::prefix);
    EXPECT_EQ(judged("__HOST-a=1; Secure; Path=/; Domain=a.org", tls), verdict::prefix);
    EXPECT_EQ(judged("__HOST-a=1; Secure; Path=/; Domain=www.a.org", tls), verdict::prefix);
    EXPECT_EQ(judged("__Http-a=1; Secure", tls), verdict::prefix);
    EXPECT_EQ(judged("__Http-a=1; Secure; HttpOnly", tls), verdict::stored);
    EXPECT_EQ(judged("__Host-Http-a=1; Secure; Path=/", tls), verdict::prefix);
    EXPECT_EQ(judged("__Host-a=1; Secure; Path=/", "http://www.a.org/"), verdict::insecure);
    EXPECT_EQ(judged("=__Host-a=1; Secure; Path=/", tls), verdict::prefix);
    EXPECT_EQ(judged("__Secure-a; Secure", tls), verdict::prefix);
    EXPECT_EQ(judged("__Other-a=1", tls), verdict::stored);
}

TEST(cookie_jar, keeps_flags_for_who_asks) {
    cookie_jar jar;
    jar.receive(at("https://www.a.org/x/y"), "a=1; HttpOnly; SameSite=strict; Domain=a.org", now);
    const auto all = jar.list(now);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0], (stored_cookie{.name = "a",
                                     .value = "1",
                                     .domain = "a.org",
                                     .path = "/x",
                                     .host_only = false,
                                     .http_only = true,
                                     .same_site = same_site::strict}));
}

TEST(cookie_jar, keeps_as_many_of_a_domain_as_it_may) {
    cookie_jar jar({.per_domain = 3});
    const url home = at("https://a.org/");
    jar.receive(home, "secure=1; Secure", now);
    jar.receive(home, "old=1", now);
    jar.receive(home, "sent=1; Path=/x", now);
    EXPECT_EQ(jar.evicted(), 0u);
    sent_to(jar, "http://a.org/");   // sends "old"
    sent_to(jar, "https://a.org/");  // and "secure"
    jar.receive(home, "new=1", now);
    EXPECT_EQ(sent_to(jar, "https://a.org/x"), "secure=1; old=1; new=1");
    jar.receive(home, "newer=1", now);
    jar.receive(home, "newest=1", now);
    EXPECT_EQ(sent_to(jar, "https://a.org/"), "secure=1; newer=1; newest=1");
    EXPECT_EQ(jar.evicted(), 3u);
    // Expired cookies go first.
    jar.receive(home, "newer=1; Max-Age=5", now);
    jar.receive(home, "last=1", now + 5);
    EXPECT_EQ(sent_to(jar, "https://a.org/"), "secure=1; newest=1; last=1");
    EXPECT_EQ(jar.evicted(), 3u);
}

TEST(cookie_jar, keeps_as_many_in_all_as_it_may) {
    cookie_jar jar({.cookies = 3});
    for (const std::string_view host : {"a", "b", "c"}) {
        jar.receive(at(std::string("https://").append(host).append(".org/")), "x=1", now);
    }
    EXPECT_EQ(jar.size(), 3u);
    sent_to(jar, "https://a.org/");
    jar.receive(at("https://d.org/"), "x=1", now);
    EXPECT_EQ(jar.size(), 3u);
    EXPECT_EQ(sent_to(jar, "https://b.org/"), "");
    EXPECT_EQ(sent_to(jar, "https://a.org/"), "x=1");
    cookie_jar none({.cookies = 0});
    none.receive(at("https://d.org/"), "x=1", now);
    EXPECT_EQ(none.size(), 0u);
}

TEST(cookie_jar, survives_who_floods_it) {
    cookie_jar jar;
    jar.receive(at("https://bank.org/"), "session=1; Secure", now);
    for (int i = 0; i != 10'000; ++i) {
        sent_to(jar, "https://bank.org/");
        jar.receive(at("https://evil.org/"), "c" + std::to_string(i) + "=1", now);
    }
    EXPECT_EQ(jar.size(), 181u);
    EXPECT_EQ(jar.evicted(), 10'000u - 180);
    for (int i = 0; i != 10'000; ++i) {
        const std::string host = "https://h" + std::to_string(i) + ".evil.org/";
        jar.receive(at(host), "c=1", now);
        EXPECT_LE(jar.size(), 3000u);
        if (i % 100 == 0) sent_to(jar, "https://bank.org/");
    }
    EXPECT_GT(jar.size(), 2800u);
    EXPECT_EQ(sent_to(jar, "https://bank.org/"), "session=1");
}

TEST(cookie_jar, sends_no_longer_field_than_it_may) {
    cookie_jar jar({.field = 10});
    const url home = at("https://a.org/");
    jar.receive(home, "a=12", now);    // 4
    jar.receive(home, "b=1234", now);  // 2 + 6 more would be 12
    jar.receive(home, "c=12", now);    // 2 + 4 more are 10
    jar.receive(home, "d", now);
    EXPECT_EQ(jar.cookies_for(home, now), "a=12; c=12");
    cookie_jar standard;
    for (int i = 0; i != 10; ++i) {
        standard.receive(home, std::to_string(i) + "=" + std::string(1000, 'x'), now);
    }
    EXPECT_EQ(standard.cookies_for(home, now).size(), 7u * 1002 + 6 * 2);
}

TEST(cookie_jar, can_be_filled_by_hand) {
    cookie_jar jar;
    EXPECT_EQ(jar.set({.name = "a", .value = "1", .domain = ".A.org", .host_only = false}, now),
              verdict::stored);
    EXPECT_EQ(sent_to(jar, "http://x.a.org/"), "a=1");
    EXPECT_EQ(jar.set({.name = "a", .value = "1", .domain = "com", .host_only = false}, now),
              verdict::public_suffix);
    EXPECT_EQ(jar.set({.name = "a", .value = "1", .domain = "com"}, now), verdict::stored);
    EXPECT_EQ(jar.set({.name = "__Host-a", .value = "1", .domain = "a.org"}, now), verdict::prefix);
    const stored_cookie good{.name = "n", .value = "v", .domain = "a.org"};
    for (const auto part : {&stored_cookie::name, &stored_cookie::value, &stored_cookie::path}) {
        for (const std::string_view bad : {"a;b", "a\nb", " a", "a "}) {
            stored_cookie c = good;
            c.*part = part == &stored_cookie::path ? std::string("/").append(bad) : bad;
            if (part == &stored_cookie::path && bad == " a") continue;
            EXPECT_EQ(jar.set(c, now), verdict::malformed) << bad;
        }
    }
    for (const std::string_view bad : {"", ".", "a..b", "a b", "#a", "a/b"}) {
        stored_cookie c = good;
        c.domain = bad;
        EXPECT_EQ(jar.set(c, now), verdict::malformed) << bad;
    }
    EXPECT_FALSE(jar.remove("a.org", "/", "b"));
    EXPECT_TRUE(jar.remove("a.org", "/", "a"));
    EXPECT_FALSE(jar.remove("a.org", "/", "a"));
    EXPECT_EQ(jar.size(), 1u);
    jar.clear();
    EXPECT_EQ(jar.size(), 0u);
}

TEST(cookie_jar, writes_the_format_of_curl) {
    cookie_jar jar;
    jar.receive(at("https://www.a.org/x/y"), "s=1; Secure; HttpOnly; Domain=a.org", now);
    jar.receive(at("http://b.org/"), "t=a b; Max-Age=60", now);
    jar.receive(at("http://b.org/"), "gone=1; Max-Age=5", now);
    jar.receive(at("http://b.org/"), "tab=a\tb", now);
    jar.receive(at("http://b.org/"), "nameless", now);
    EXPECT_EQ(jar.text(now + 5),
              "# Netscape HTTP Cookie File\n"
              "#HttpOnly_.a.org\tTRUE\t/x\tTRUE\t0\ts\t1\n"
              "b.org\tFALSE\t/\tFALSE\t1800000060\tt\ta b\n"
              "b.org\tFALSE\t/\tFALSE\t0\t\tnameless\n");
    EXPECT_EQ(jar.text(now, session_cookies::drop),
              "# Netscape HTTP Cookie File\n"
              "b.org\tFALSE\t/\tFALSE\t1800000060\tt\ta b\n"
              "b.org\tFALSE\t/\tFALSE\t1800000005\tgone\t1\n");
}

TEST(cookie_jar, reads_the_format_of_curl_and_others) {
    cookie_jar jar;
    const std::size_t added = jar.read(
        "# Netscape HTTP Cookie File\r\n"
        "# https://curl.se/docs/http-cookies.html\n"
        "\n"
        ".a.org\tTRUE\t/\tFALSE\t1800000060\tx\t1\r\n"
        "#HttpOnly_a.org\tFALSE\t/\tTRUE\t0\ty\t2\n"
        "a.org\tfalse\t/\tfalse\t1800000060.25\tempty\t\n"
        "a.org\tFALSE\t/\tFALSE\t1800000060\tcut\n"
        "a.org\tFALSE\t/\tFALSE\t1700000000\tgone\t1\n"
        "a.org\tFALSE\t/\tFALSE\t99999999999\tfar\t1\n"
        "a.org\tFALSE\t/\tFALSE\tnever\tbad\t1\n"
        "a.org\tFALSE\t/\n"
        "a.org\tFALSE\t/\tFALSE\t0\ttoo\tmany\tfields\n"
        ".com\tTRUE\t/\tFALSE\t0\tsuper\tcookie\n"
        "a.org\tFALSE\t/\tFALSE\t0\t__Host-z\t1\n"
        "nonsense\n"
        "a.org FALSE / FALSE 0 spaces 1",
        now);
    EXPECT_EQ(added, 5u);
    EXPECT_EQ(sent_to(jar, "https://a.org/"), "x=1; y=2; empty=; cut=; far=1");
    EXPECT_EQ(sent_to(jar, "https://b.a.org/"), "x=1");
    EXPECT_TRUE(jar.list(now)[1].http_only);
    EXPECT_EQ(jar.list(now)[4].expires, now + 400 * day);
}

TEST(cookie_jar, may_be_shared_by_threads) {
    cookie_jar jar;
    std::vector<std::thread> threads;
    for (int n = 0; n != 4; ++n) {
        threads.emplace_back([&jar, n] {
            const url home = at("https://h" + std::to_string(n % 2) + ".org/");
            for (int i = 0; i != 500; ++i) {
                jar.receive(home, "c" + std::to_string(i % 7) + "=" + std::to_string(n), now);
                EXPECT_FALSE(jar.cookies_for(home, now).empty());
                EXPECT_LE(jar.list(now).size(), 14u);
            }
        });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(jar.size(), 14u);
}
