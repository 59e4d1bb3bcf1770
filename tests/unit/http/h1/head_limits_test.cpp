#include <coracle/http/h1/head_parser.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle::http;
using namespace coracle::http::h1;

namespace {

// Whole and byte by byte must say the same.
parse_result parse(const std::string& bytes, const head_limits& limits = {}) {
    request_head head;
    request_parser whole;
    const parse_result result = whole.parse(bytes, head, limits);
    request_parser drip;
    parse_result last;
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
        last = drip.parse({bytes.data(), size}, head, limits);
        if (last.status != parse_status::need_more) {
            break;
        }
    }
    EXPECT_EQ(last.status, result.status);
    EXPECT_EQ(last.error, result.error) << describe(last.error) << " / " << describe(result.error);
    return result;
}

std::string with_target(std::size_t line_size) {
    return "GET /" + std::string(line_size - 14, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n";
}

std::string with_field(std::size_t line_size) {
    return "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(line_size - 3, 'a') + "\r\n\r\n";
}

std::string with_fields(int count) {
    std::string head = "GET / HTTP/1.1\r\nHost: a\r\n";
    for (int i = 1; i < count; ++i) {
        head += "X: y\r\n";
    }
    return head + "\r\n";
}

}  // namespace

TEST(head_limits, hold_the_request_line_to_8192_bytes) {
    EXPECT_EQ(parse(with_target(8191)).status, parse_status::complete);
    EXPECT_EQ(parse(with_target(8192)).status, parse_status::complete);
    EXPECT_EQ(parse(with_target(8193)).error, parse_error::request_line_too_long);
    EXPECT_EQ(status_for(parse_error::request_line_too_long), status::uri_too_long);
}

TEST(head_limits, stop_an_endless_request_line_one_byte_above) {
    EXPECT_EQ(parse("GET /" + std::string(8187, 'a')).status, parse_status::need_more);
    EXPECT_EQ(parse("GET /" + std::string(8188, 'a')).error, parse_error::request_line_too_long);
    EXPECT_EQ(parse(std::string(8193, 'A')).error, parse_error::request_line_too_long);
}

TEST(head_limits, hold_a_field_line_to_16384_bytes) {
    EXPECT_EQ(parse(with_field(16383)).status, parse_status::complete);
    EXPECT_EQ(parse(with_field(16384)).status, parse_status::complete);
    EXPECT_EQ(parse(with_field(16385)).error, parse_error::field_too_long);
    EXPECT_EQ(status_for(parse_error::field_too_long), status::request_header_fields_too_large);
}

TEST(head_limits, stop_an_endless_field_one_byte_above) {
    const std::string start = "GET / HTTP/1.1\r\n";
    EXPECT_EQ(parse(start + std::string(16384, 'a')).status, parse_status::need_more);
    EXPECT_EQ(parse(start + std::string(16385, 'a')).error, parse_error::field_too_long);
    EXPECT_EQ(parse(start + "a:" + std::string(16383, 'a')).error, parse_error::field_too_long);
}

TEST(head_limits, hold_the_fields_to_100) {
    EXPECT_EQ(parse(with_fields(99)).status, parse_status::complete);
    EXPECT_EQ(parse(with_fields(100)).status, parse_status::complete);
    EXPECT_EQ(parse(with_fields(101)).error, parse_error::too_many_fields);
}

TEST(head_limits, hold_the_whole_head) {
    const std::string head = with_fields(10);
    const auto size = static_cast<std::uint32_t>(head.size());
    EXPECT_EQ(parse(head, {.total = size + 1}).status, parse_status::complete);
    EXPECT_EQ(parse(head, {.total = size}).status, parse_status::complete);
    EXPECT_EQ(parse(head + "a body is not part of the head", {.total = size}).consumed, size);
    EXPECT_EQ(parse(head, {.total = size - 1}).error, parse_error::head_too_large);
}

TEST(head_limits, give_one_verdict_whatever_they_are) {
    const std::string good = "\r\nGET /a HTTP/1.1\r\nHost: a\r\nX: yz\r\n\r\n";
    for (const char* bad : {"", "\x01", "\n", "\r", " :", "#"}) {
        for (std::size_t at = 0; at <= good.size(); ++at) {
            const std::string bytes = std::string{good}.insert(at, bad);
            for (std::uint32_t limit = 0; limit < 45; ++limit) {
                (void)parse(bytes, {.total = limit});
                (void)parse(bytes, {.total = 20, .request_line = limit, .field = limit});
                (void)parse(bytes, {.request_line = limit, .field = limit});
                (void)parse(bytes, {.fields = limit, .field = 7});
            }
        }
    }
}

TEST(head_limits, hold_responses_too) {
    const auto error_of = [](const std::string& bytes, const head_limits& limits) {
        response_head head;
        return response_parser{}.parse(bytes, method::get, head, limits).error;
    };
    const std::string head = "HTTP/1.1 200 OK\r\nX: y\r\n\r\n";
    EXPECT_EQ(error_of(head, {.request_line = 15}), parse_error::none);
    EXPECT_EQ(error_of(head, {.request_line = 14}), parse_error::status_line_too_long);
    EXPECT_EQ(error_of(head, {.fields = 0}), parse_error::too_many_fields);
    EXPECT_EQ(error_of(head, {.field = 3}), parse_error::field_too_long);
    EXPECT_EQ(error_of(head, {.total = 24}), parse_error::head_too_large);
}
