#include "bench/figures/json_figures.hpp"
#include "bench/figures/json_value.hpp"
#include "bench/figures/scenario.hpp"
#include "bench/figures/span_text.hpp"
#include "bench/response_reader.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

namespace coracle::tool::bench {
namespace {

const url base = *url::parse("http://example.com/a/");

TEST(bench_json, reads_values_of_every_kind) {
    const auto v = json_value::parse(
        R"( {"a": [1, -2.5e3, true, null], "b": {"c": "x\n\u00e9\ud83d\ude00\"" }, "d": ""} )");
    ASSERT_TRUE(v) << v.error();
    EXPECT_EQ((*v)["a"].elements().size(), 4U);
    EXPECT_EQ((*v)["a"].elements()[1].number(), -2500);
    EXPECT_EQ((*v)["b"]["c"].text(), "x\n\u00e9\U0001F600\"");
    EXPECT_TRUE((*v)["d"].is_text());
    EXPECT_EQ((*v)["none"]["at all"].number(), 0);
}

TEST(bench_json, refuses_what_is_none) {
    for (const char* text : {"", "{", "[1,]", "{\"a\" 1}", "\"a", "tru", "1 2", "{\"a\":\"\\x\"}",
                             "\"\\ud83d\\u0041\"", "[\"a\nb\"]", "nan", "+1"}) {
        EXPECT_FALSE(json_value::parse(text)) << text;
    }
    EXPECT_FALSE(json_value::parse(std::string(100, '[') + std::string(100, ']')));
    EXPECT_TRUE(json_value::parse(std::string(60, '[') + std::string(60, ']')));
    EXPECT_EQ(json_value::parse("[1,}").error(), "at byte 3: a value was expected");
}

TEST(bench_json, numbers_are_written_as_json_has_them) {
    EXPECT_EQ(json_number(12), "12");
    EXPECT_EQ(json_number(0.125), "0.125");
    EXPECT_EQ(json_number(123456.789), "123457");
    EXPECT_EQ(json_number(std::nan("")), "null");
    EXPECT_EQ(json_milliseconds(1'234'567), "1.234567");
    EXPECT_EQ(json_milliseconds(5'000'000), "5");
    EXPECT_EQ(json_milliseconds(12), "0.000012");
}

TEST(bench_scenario, reads_lines) {
    const auto s = read_scenario(
        "{\"url\":\"/x?y\"}\n\n"
        "{\"url\":\"b\",\"body\":\"{}\",\"headers\":{\"A\":\"b\"},\"weight\":3}\n"
        "{\"url\":\"http://example.com:80/c\",\"method\":\"DELETE\"}",
        base);
    ASSERT_TRUE(s) << s.error();
    ASSERT_EQ(s->requests.size(), 3U);
    EXPECT_EQ(s->requests[0].target, "/x?y");
    EXPECT_EQ(s->requests[0].method, "GET");
    EXPECT_EQ(s->requests[1].target, "/a/b");
    EXPECT_EQ(s->requests[1].method, "POST");
    EXPECT_TRUE(s->requests[1].has_field("a"));
    EXPECT_EQ(s->requests[2].method, "DELETE");
    EXPECT_FALSE(s->in_order);
    std::array<int, 3> drawn{};
    for (std::uint64_t i = 0; i != 500; ++i) ++drawn.at(s->draw(i));
    EXPECT_EQ(drawn, (std::array<int, 3>{100, 300, 100}));
}

TEST(bench_scenario, the_first_url_is_the_server_where_none_was_given) {
    const auto s = read_scenario("{\"url\":\"http://a/1\"}\n{\"url\":\"http://a/2\"}", url());
    ASSERT_TRUE(s) << s.error();
    EXPECT_EQ(s->origin.authority(), "a");
}

TEST(bench_scenario, says_which_line_is_wrong) {
    const auto wrong = [](const char* text) {
        const auto s = read_scenario(text, base);
        return s ? std::string("nothing") : s.error();
    };
    EXPECT_EQ(wrong("{\"url\":\"/\"}\n[]"), "line 2: an object is wanted");
    EXPECT_EQ(wrong("{\"url\":\"http://other/\"}"),
              "line 1: 'http://other/' goes to another server than http://example.com/a/");
    EXPECT_EQ(wrong("{\"url\":\"/\",\"weight\":0}"),
              "line 1: 'weight' has to be a number from 1 to 1000000");
    EXPECT_EQ(wrong("{\"url\":\"/\",\"wait\":0}"),
              "line 1: there is no 'wait': there are url, method, headers, body and weight");
    EXPECT_EQ(wrong("{}"), "line 1: 'url' is wanted, a string");
    EXPECT_EQ(wrong("\n \n"), "there is no request in it");
    EXPECT_TRUE(wrong("{\"url\"").starts_with("line 1: at byte 6"));
}

TEST(bench_scenario, reads_the_requests_of_a_har_that_go_to_the_server) {
    const auto s = read_scenario(R"({"log": {"version": "1.2", "entries": [
        {"request": {"method": "GET", "url": "http://example.com/",
                     "headers": [{"name": "Accept", "value": "text/html"},
                                 {"name": "Host", "value": "example.com"},
                                 {"name": ":path", "value": "/"}]}},
        {"request": {"method": "GET", "url": "https://cdn.example.com/x.js", "headers": []}},
        {"request": {"method": "POST", "url": "http://example.com/api?q=1",
                     "headers": [{"name": "content-length", "value": "2"}],
                     "postData": {"mimeType": "application/json", "text": "{}"}}}]}})",
                                 base);
    ASSERT_TRUE(s) << s.error();
    ASSERT_EQ(s->requests.size(), 2U);
    EXPECT_TRUE(s->in_order);
    EXPECT_EQ(s->left_out, 1U);
    EXPECT_EQ(s->requests[0].fields.size(), 1U);
    EXPECT_EQ(s->requests[1].target, "/api?q=1");
    EXPECT_EQ(s->requests[1].body, "{}");
    EXPECT_TRUE(s->requests[1].fields.empty());
}

TEST(bench_spans, are_read_with_their_units) {
    EXPECT_EQ(read_span("10s"), std::chrono::seconds(10));
    EXPECT_EQ(read_span("1.5"), std::chrono::milliseconds(1500));
    EXPECT_EQ(read_span("20ms"), std::chrono::milliseconds(20));
    EXPECT_EQ(read_span("500us"), std::chrono::microseconds(500));
    EXPECT_EQ(read_span("2m"), std::chrono::minutes(2));
    EXPECT_EQ(read_span("1h"), std::chrono::hours(1));
    for (const char* text : {"", "s", "-1s", "10x", "1e3", "nan", "1 s", "2000h"}) {
        EXPECT_FALSE(read_span(text)) << text;
    }
}

TEST(bench_spans, are_written_with_three_digits) {
    EXPECT_EQ(latency_text(999), "0.999 us");
    EXPECT_EQ(latency_text(12'345), "12.3 us");
    EXPECT_EQ(latency_text(999'499), "999 us");
    EXPECT_EQ(latency_text(1'234'000), "1.23 ms");
    EXPECT_EQ(latency_text(2'500'000'000), "2.50 s");
    EXPECT_EQ(count_text(1'234'567), "1,234,567");
    EXPECT_EQ(count_text(999), "999");
    EXPECT_EQ(span_text(std::chrono::seconds(10)), "10 s");
    EXPECT_EQ(span_text(std::chrono::minutes(2)), "2 min");
}

using state = response_reader::state;

/// The verdict on these bytes, however they are cut.
state verdict_of(const std::string& bytes, http::method m = http::method::get) {
    response_reader whole;
    whole.begin(m);
    const state first = whole.feed(bytes);
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
        response_reader r;
        r.begin(m);
        state s = r.feed(bytes.substr(0, cut));
        if (s == state::more) s = r.feed(bytes.substr(cut));
        EXPECT_EQ(s, first) << bytes << " cut at " << cut;
        if (s == state::done) {
            EXPECT_EQ(r.status(), whole.status());
        }
    }
    return first;
}

TEST(bench_response_reader, reads_each_framing_however_it_is_cut) {
    EXPECT_EQ(verdict_of("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), state::done);
    EXPECT_EQ(verdict_of("HTTP/1.1 204 No Content\r\n\r\n"), state::done);
    EXPECT_EQ(verdict_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                         "3\r\nabc\r\n0\r\n\r\n"),
              state::done);
    EXPECT_EQ(verdict_of("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
                         "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
              state::done);
    EXPECT_EQ(verdict_of("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", http::method::head),
              state::done);
    EXPECT_EQ(verdict_of("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"), state::more);
}

TEST(bench_response_reader, refuses_what_is_no_response_and_what_nobody_asked_for) {
    EXPECT_EQ(verdict_of("HTTP/1.1 200 OK\nContent-Length: 0\n\n"), state::broken);
    EXPECT_EQ(verdict_of("SSH-2.0-OpenSSH\r\n"), state::broken);
    EXPECT_EQ(verdict_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"),
              state::broken);
    response_reader r;
    r.begin(http::method::get);
    EXPECT_EQ(r.feed("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokmore"), state::broken);
}

TEST(bench_response_reader, begins_anew_wherever_the_response_before_has_stopped) {
    const std::string whole = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    for (std::size_t n = 1; n != whole.size(); ++n) {
        response_reader r;
        r.begin(http::method::get);
        EXPECT_EQ(r.feed(whole.substr(0, n)), state::more);
        r.begin(http::method::get);
        EXPECT_EQ(r.feed("HTTP/1.1 204 No Content\r\n\r\n"), state::done) << n;
        EXPECT_EQ(r.status(), 204U);
    }
}

TEST(bench_response_reader, the_end_of_the_stream_ends_a_body_without_a_length) {
    response_reader r;
    r.begin(http::method::get);
    EXPECT_EQ(r.feed("HTTP/1.1 200 OK\r\n\r\nsome"), state::more);
    EXPECT_EQ(r.end(), state::done);
    r.begin(http::method::get);
    EXPECT_EQ(r.feed("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsome"), state::more);
    EXPECT_EQ(r.end(), state::broken);
}

}  // namespace
}  // namespace coracle::tool::bench
