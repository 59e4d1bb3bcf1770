#include <coracle/base/error.hpp>
#include <coracle/http/cookie.hpp>
#include <coracle/http/request.hpp>
#include <coracle/http/response.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace coracle;
using namespace coracle::http;
using namespace std::chrono_literals;

namespace {

std::string pairs_of(std::string_view field) {
    std::string all;
    cookie_pair pair;
    while (next_cookie(field, pair)) {
        all += '[' + std::string(pair.name) + '=' + std::string(pair.value) + ']';
    }
    return all;
}

std::string refused_part(const auto& make) {
    try {
        make();
    } catch (const exception& e) {
        EXPECT_EQ(e.error(), std::errc::invalid_argument);
        return std::string(e.error().subject());
    }
    return "nothing";
}

TEST(cookie, fields_are_read_as_clients_send_them) {
    EXPECT_EQ(pairs_of("a=1; b=2"), "[a=1][b=2]");
    EXPECT_EQ(pairs_of("a=1;b=2;  c = 3 ;"), "[a=1][b=2][c=3]");
    EXPECT_EQ(pairs_of("a=x=y; b="), "[a=x=y][b=]");
    EXPECT_EQ(pairs_of("a=\"quoted\"; b=\"\"; c=\"; d=\"x"), "[a=quoted][b=][c=\"][d=\"x]");
    EXPECT_EQ(pairs_of("a=one two, three; b[0]=2"), "[a=one two, three][b[0]=2]");
}

TEST(cookie, what_has_no_name_or_a_control_byte_is_passed_over) {
    EXPECT_EQ(pairs_of(""), "");
    EXPECT_EQ(pairs_of(";;  ; "), "");
    EXPECT_EQ(pairs_of("flag; =value; a=1"), "[a=1]");
    EXPECT_EQ(pairs_of(std::string_view("a=\0; b\x01=1; c=\x7f; d=2", 19)), "[d=2]");
}

TEST(cookie, a_request_gives_the_first_of_a_name_over_all_its_fields) {
    request req;
    req.fields().add("Cookie", "a=1; b=2");
    req.fields().add("X-Other", "c=3");
    req.fields().add("Cookie", "a=4; c=5");
    EXPECT_EQ(req.cookie("a"), "1");
    EXPECT_EQ(req.cookie("c"), "5");
    EXPECT_EQ(req.cookie("A"), std::nullopt);
    EXPECT_EQ(req.cookie(""), std::nullopt);
}

TEST(set_cookie, writes_each_attribute) {
    EXPECT_EQ(set_cookie("a", "b").text(), "a=b");
    EXPECT_EQ(set_cookie("a", "b")
                  .path("/x")
                  .domain(".example.com")
                  .expires(784'111'777)
                  .max_age(1h)
                  .secure()
                  .http_only()
                  .same_site(same_site::lax)
                  .partitioned()
                  .text(),
              "a=b; Path=/x; Domain=example.com; Expires=Sun, 06 Nov 1994 08:49:37 GMT; "
              "Max-Age=3600; Secure; HttpOnly; SameSite=Lax; Partitioned");
    EXPECT_EQ(set_cookie("a", "").same_site(same_site::strict).text(), "a=; SameSite=Strict");
    EXPECT_EQ(set_cookie("a", "").max_age(-5s).text(), "a=; Max-Age=0");
}

TEST(set_cookie, a_removal_is_in_the_past_and_keeps_the_rules_of_its_name) {
    EXPECT_EQ(set_cookie::removal("a").text(),
              "a=; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=0");
    EXPECT_EQ(set_cookie::removal("__Host-a").text(),
              "__Host-a=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=0; Secure; "
              "HttpOnly");
    for (const char* name : {"__Secure-a", "__Http-a", "__Host-Http-a"}) {
        EXPECT_NO_THROW(static_cast<void>(set_cookie::removal(name).text())) << name;
    }
}

TEST(set_cookie, refuses_what_could_end_its_field_or_be_read_as_something_else) {
    EXPECT_EQ(refused_part([] { set_cookie("", "x"); }), "name");
    for (const char* name : {"a b", "a=b", "a;", "a\r\n", "\xc3\xa4", "a\"b"}) {
        EXPECT_EQ(refused_part([&] { set_cookie(name, "x"); }), "name") << name;
    }
    for (const char* value : {"a b", "a;b", "a,b", "a\\b", "\"a\"", "a\r\nX: y", "\xc3\xa4"}) {
        EXPECT_EQ(refused_part([&] { set_cookie("a", value); }), "value") << value;
    }
    EXPECT_EQ(refused_part([] { set_cookie("a", std::string_view("\0", 1)); }), "value");
    set_cookie c("a", "b");
    for (const char* path : {"", "x", "/;x", "/\n", "/\x7f", "/ "}) {
        EXPECT_EQ(refused_part([&] { c.path(path); }), "Path") << path;
    }
    for (const char* domain : {"", ".", "..a", "a..b", "a.", "a b", "a;b", "a:80"}) {
        EXPECT_EQ(refused_part([&] { c.domain(domain); }), "Domain") << domain;
    }
    EXPECT_EQ(c.text(), "a=b");
}

TEST(set_cookie, keeps_to_the_sizes_that_browsers_take) {
    const auto value = [](std::size_t n) { return [n] { set_cookie("a", std::string(n, 'x')); }; };
    EXPECT_EQ(refused_part(value(4094)), "nothing");
    EXPECT_EQ(refused_part(value(4095)), "nothing");
    EXPECT_EQ(refused_part(value(4096)), "value");
    set_cookie c("a", "b");
    const auto path = [&](std::size_t n) { return [&c, n] { c.path(std::string(n, '/')); }; };
    EXPECT_EQ(refused_part(path(1023)), "nothing");
    EXPECT_EQ(refused_part(path(1024)), "nothing");
    EXPECT_EQ(refused_part(path(1025)), "Path");
}

TEST(set_cookie, the_prefixes_of_names_demand_their_attributes) {
    const auto text = [](const set_cookie& c) { return refused_part([&c] { return c.text(); }); };
    EXPECT_EQ(text(set_cookie("__Secure-a", "")), "Secure");
    EXPECT_EQ(text(set_cookie("__Secure-a", "").secure()), "nothing");
    EXPECT_EQ(text(set_cookie("__host-a", "").path("/")), "Secure");
    EXPECT_EQ(text(set_cookie("__Host-a", "").secure()), "Path");
    EXPECT_EQ(text(set_cookie("__Host-a", "").secure().path("/x")), "Path");
    EXPECT_EQ(text(set_cookie("__Host-a", "").secure().path("/").domain("a.org")), "Domain");
    EXPECT_EQ(text(set_cookie("__Host-a", "").secure().path("/")), "nothing");
    EXPECT_EQ(text(set_cookie("__Http-a", "").secure()), "HttpOnly");
    EXPECT_EQ(text(set_cookie("__Host-Http-a", "").secure().path("/")), "HttpOnly");
    EXPECT_EQ(text(set_cookie("__Host-Http-a", "").secure().path("/").http_only()), "nothing");
    EXPECT_EQ(text(set_cookie("a", "").same_site(same_site::none)), "Secure");
    EXPECT_EQ(text(set_cookie("a", "").same_site(same_site::none).secure()), "nothing");
    EXPECT_EQ(text(set_cookie("a", "").partitioned()), "Secure");
}

TEST(set_cookie, a_response_may_carry_several) {
    auto r = response(status::ok).add_cookie(set_cookie("a", "1")).add_cookie(set_cookie("b", "2"));
    r.add_cookie(set_cookie("a", "3"));
    std::string all;
    for (const field& f : r.fields()) {
        EXPECT_EQ(f.id, field_id::set_cookie);
        all += std::string(f.value) + '|';
    }
    EXPECT_EQ(all, "a=1|b=2|a=3|");
}

TEST(set_cookie, what_it_writes_a_cookie_field_brings_back) {
    const std::string sent = set_cookie("id", "a=b%20c").path("/").text();
    EXPECT_EQ(pairs_of(sent.substr(0, sent.find(';'))), "[id=a=b%20c]");
}

}  // namespace
