#include <coracle/base/error.hpp>
#include <coracle/http/date.hpp>
#include <coracle/http/h1.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle::http;

namespace {

template <class F>
void expect_refused(F f) {
    std::string out = "before";
    EXPECT_THROW(f(out), coracle::exception);
    EXPECT_EQ(out, "before");
}

}  // namespace

TEST(append_head, writes_what_the_parsers_read) {
    const field fields[] = {{"Host", "x"}, {"X-Empty", ""}};
    std::string out = "(";
    h1::append_request_head(out, "PURGE", "/a?b", fields);
    EXPECT_EQ(out, "(PURGE /a?b HTTP/1.1\r\nHost: x\r\nX-Empty: \r\n\r\n");
    h1::request_head request;
    const auto parsed = h1::request_parser().parse(std::string_view(out).substr(1), request);
    EXPECT_EQ(parsed.status, h1::parse_status::complete);
    EXPECT_EQ(request.path, "/a");
    EXPECT_EQ(request.host, "x");

    out.clear();
    h1::append_response_head(out, status::not_found, {});
    EXPECT_EQ(out, "HTTP/1.1 404 Not Found\r\n\r\n");
    out.clear();
    h1::append_response_head(out, status::ok, fields, "Fine");
    EXPECT_EQ(out, "HTTP/1.1 200 Fine\r\nHost: x\r\nX-Empty: \r\n\r\n");
}

TEST(append_head, refuses_what_could_be_read_as_something_else) {
    const field bad_name[] = {{"A b", "x"}};
    const field bad_value[] = {{"A", "x\r\nB: y"}};
    expect_refused([](std::string& out) { h1::append_request_head(out, "G ET", "/", {}); });
    expect_refused([](std::string& out) { h1::append_request_head(out, "GET", "/a b", {}); });
    expect_refused([&](std::string& out) { h1::append_request_head(out, "GET", "/", bad_name); });
    expect_refused([&](std::string& out) { h1::append_response_head(out, status::ok, bad_value); });
    expect_refused([](std::string& out) { h1::append_response_head(out, status::ok, {}, "a\nb"); });
    expect_refused(
        [](std::string& out) { h1::append_response_head(out, static_cast<status>(99), {}); });
    expect_refused(
        [](std::string& out) { h1::append_response_head(out, static_cast<status>(1000), {}); });
}

TEST(append_chunk, writes_what_the_decoder_takes_apart) {
    std::string out;
    h1::append_chunk(out, "boat");
    h1::append_chunk(out, "");
    h1::append_chunk(out, std::string(17, 'x'));
    const field trailers[] = {{"X-Sum", "21"}};
    h1::append_last_chunk(out, trailers);
    EXPECT_EQ(out, "4\r\nboat\r\n11\r\nxxxxxxxxxxxxxxxxx\r\n0\r\nX-Sum: 21\r\n\r\n");
    h1::chunked_decoder decoder;
    std::string body;
    std::string_view left = out;
    h1::chunk_event e;
    do {
        e = decoder.decode(left);
        body += e.data;
        left.remove_prefix(e.consumed);
    } while (e.status == h1::chunk_status::data);
    EXPECT_EQ(e.status, h1::chunk_status::end);
    EXPECT_EQ(body, "boat" + std::string(17, 'x'));
    EXPECT_EQ(decoder.trailers().size(), 1U);
    const field framing[] = {{"Content-Length", "1"}};
    expect_refused([&](std::string& to) { h1::append_last_chunk(to, framing); });
}

TEST(http_date, is_made_of_and_into_a_time_of_the_system_clock) {
    using namespace std::chrono;
    const sys_seconds time = sys_days(1994y / November / 6) + 8h + 49min + 37s;
    EXPECT_EQ(format_http_date(time), "Sun, 06 Nov 1994 08:49:37 GMT");
    EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), time.time_since_epoch().count());
}
