#include "h1_cuts.hpp"

#include <string>
#include <string_view>

using namespace coracle::http;
using namespace coracle::http::h1;
using namespace coracle::http::h1::test;
using namespace std::literals;

namespace {

using enum parse_error;

struct refused {
    std::string_view bytes;
    parse_error error;
};

constexpr refused bad_status_lines[] = {
    {"HTTP/1.1 99 OK\r\n", bad_status_code},
    {"HTTP/1.1 099 OK\r\n", bad_status_code},
    {"HTTP/1.1 1000 OK\r\n", bad_status_code},
    {"HTTP/1.1 2x0 OK\r\n", bad_status_code},
    {"HTTP/1.1 -20 OK\r\n", bad_status_code},
    {"HTTP/1.1  200 OK\r\n", bad_status_code},
    {"HTTP/1.1\t200 OK\r\n", bad_version},
    {"HTTP/1.1\r\n", bad_start_line},
    {"HTTP/1.1 200\tOK\r\n", bad_status_code},
    {"HTTP/1.1 200 O\0K\r\n"sv, bad_reason},
    {"HTTP/1.1 200 OK\n", bare_line_feed},
    {"HTTP/1.1 200\n", bare_line_feed},
    {"HTTP/1.1 200 OK\rX", bare_carriage_return},
    {"http/1.1 200 OK\r\n", bad_version},
    {"ICY 200 OK\r\n", bad_version},
    {"HTTP/2.0 200 OK\r\n", unsupported_version},
    {"\r\nHTTP/1.1 200 OK\r\n", bad_start_line},
    {"HTTP/1.1 200 OK\r\n X: y\r\n", folded_field},
    {"HTTP/1.1 200 OK\r\nX: y\r\n z\r\n", folded_field},
    {"HTTP/1.1 200 OK\r\nX : y\r\n", space_before_colon},
    {"HTTP/1.1 200 OK\r\nX: y\n", bare_line_feed},
};

template <method Asked>
response_head head_of(std::string_view bytes) {
    const verdict result = parse_every_way<response_side<Asked>>(bytes);
    EXPECT_EQ(result.status, parse_status::complete) << describe(result.error) << bytes;
    response_parser parser;
    response_head head;
    (void)parser.parse(bytes, Asked, head);
    return head;
}

}  // namespace

TEST(response_parser, refuses_each_malformed_head_for_its_reason) {
    for (const refused& entry : bad_status_lines) {
        const verdict result = parse_every_way<response_side<>>(entry.bytes);
        EXPECT_EQ(result.status, parse_status::error) << entry.bytes;
        EXPECT_EQ(result.error, entry.error) << entry.bytes << describe(result.error);
    }
}

TEST(response_parser, reads_the_status_line) {
    const response_head head = head_of<method::get>("HTTP/1.1 404 Not  \xe9 Found \r\n\r\n");
    EXPECT_EQ(head.code, 404);
    EXPECT_EQ(head.reason, "Not  \xe9 Found ");
    EXPECT_EQ(head.version, version::http_1_1);
    EXPECT_EQ(head_of<method::get>("HTTP/1.1 999 \r\n\r\n").code, 999);
    EXPECT_EQ(head_of<method::get>("HTTP/1.1 200\r\n\r\n").reason, "");
}

TEST(response_parser, frames_by_length_chunks_or_close) {
    const response_head length =
        head_of<method::get>("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n");
    EXPECT_EQ(length.framing, body_framing::length);
    EXPECT_EQ(length.content_length, 7U);
    EXPECT_TRUE(length.keep_alive);
    EXPECT_EQ(head_of<method::get>("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").framing,
              body_framing::none);
    EXPECT_EQ(head_of<method::get>("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").framing,
              body_framing::chunked);
    const response_head close =
        head_of<method::get>("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(close.framing, body_framing::until_close);
    EXPECT_FALSE(close.keep_alive);
}

TEST(response_parser, knows_which_responses_have_no_body) {
    for (const std::string_view code : {"100", "101", "103", "204", "304"}) {
        std::string bytes = "HTTP/1.1 ";
        bytes.append(code).append(" x\r\nContent-Length: 7\r\n\r\n");
        const response_head head = head_of<method::get>(bytes);
        EXPECT_EQ(head.framing, body_framing::none) << code;
        EXPECT_EQ(head.content_length, 7U);
    }
    const response_head to_head =
        head_of<method::head>("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    EXPECT_EQ(to_head.framing, body_framing::none);
    EXPECT_TRUE(to_head.keep_alive);
}

TEST(response_parser, keeps_no_connection_of_which_it_does_not_know_what_was_said) {
    for (const std::string_view options : {"keep-alive; timeout=5", "a b", "\"keep-alive\""}) {
        const response_head head = head_of<method::get>(
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: " + std::string(options) +
            "\r\n\r\n");
        EXPECT_FALSE(head.keep_alive) << options;
        EXPECT_EQ(head.framing, body_framing::length);
        EXPECT_EQ(head.content_length, 2U);
    }
}

TEST(response_parser, ignores_wrong_framing_of_a_response_without_a_body) {
    const auto expect_none = [](const response_head& head, std::string_view about) {
        EXPECT_EQ(head.framing, body_framing::none) << about;
        EXPECT_FALSE(head.has_content_length) << about;
        EXPECT_FALSE(head.keep_alive) << about;
    };
    for (const std::string_view fields :
         {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: gzip\r\n",
          "Content-Length: x\r\n", "Content-Length: 1\r\nContent-Length: 2\r\n"}) {
        const std::string rest = " x\r\n" + std::string(fields) + "\r\n";
        for (const std::string_view code : {"103", "204", "304"}) {
            expect_none(head_of<method::get>("HTTP/1.1 " + std::string(code) + rest), fields);
        }
        expect_none(head_of<method::head>("HTTP/1.1 200" + rest), fields);
    }
    expect_none(head_of<method::head>("HTTP/1.0 200 x\r\nTransfer-Encoding: chunked\r\n\r\n"),
                "1.0");
}

TEST(response_parser, ignores_framing_after_connect_succeeded_and_only_then) {
    const std::string_view fields = "\r\nContent-Length: x\r\nTransfer-Encoding: y\r\n\r\n";
    EXPECT_EQ(head_of<method::connect>("HTTP/1.1 200 OK" + std::string{fields}).framing,
              body_framing::none);
    EXPECT_EQ(
        parse_every_way<response_side<method::connect>>("HTTP/1.1 407 No" + std::string{fields})
            .error,
        bad_content_length);
}

TEST(response_parser, keeps_an_http_1_0_connection_only_when_told) {
    EXPECT_FALSE(head_of<method::get>("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n").keep_alive);
    EXPECT_TRUE(head_of<method::get>(
                    "HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: Keep-Alive\r\n\r\n")
                    .keep_alive);
}

TEST(response_parser, takes_a_later_minor_version_for_http_1_1) {
    const response_head head = head_of<method::get>("HTTP/1.2 200 OK\r\nContent-Length: 1\r\n\r\n");
    EXPECT_EQ(head.version, version::http_1_1);
    EXPECT_TRUE(head.keep_alive);
}

TEST(response_parser, sees_an_upgrade) {
    EXPECT_TRUE(head_of<method::get>("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n"
                                     "Upgrade: websocket\r\n\r\n")
                    .upgrade);
}
