#include "h1_cuts.hpp"

#include <string>
#include <string_view>

using namespace coracle::http;
using namespace coracle::http::h1;
using namespace coracle::http::h1::test;
using namespace std::literals;

namespace {

struct refused {
    std::string_view bytes;
    parse_error error;
};

struct accepted {
    std::string_view bytes;
    std::string_view head;  // what dump() says of it
};

using enum parse_error;

// A request line that stands before each bad field line, and the one that ends the head.
#define GET "GET / HTTP/1.1\r\nHost: a\r\n"

constexpr refused bad_start_lines[] = {
    {" GET / HTTP/1.1\r\n", bad_method},
    {"\tGET / HTTP/1.1\r\n", bad_method},
    {"G\0T / HTTP/1.1\r\n"sv, bad_method},
    {"G(T / HTTP/1.1\r\n", bad_method},
    {"G\xc3\xa9T / HTTP/1.1\r\n", bad_method},
    {"\x16\x03\x01\x02", bad_method},
    {"GET\r\n", bad_start_line},
    {"GET\n", bare_line_feed},
    {"GET\t/ HTTP/1.1\r\n", bad_method},
    {"GET  / HTTP/1.1\r\n", bad_start_line},
    {"GET /\r\n", bad_start_line},
    {"GET /\n", bare_line_feed},
    {"GET /  HTTP/1.1\r\n", bad_version},
    {"GET / HTTP/1.1 \r\n", bad_version},
    {"GET / HTTP/1.1\n", bare_line_feed},
    {"GET / HTTP/1.1\rX", bare_carriage_return},
    {"GET / HTTP/1.1\r\r\n", bare_carriage_return},
    {"GET / http/1.1\r\n", bad_version},
    {"GET / HTTP/11\r\n", bad_version},
    {"GET / HTTP/1.\r\n", bad_start_line},
    {"GET / HTTP/1.10\r\n", bad_version},
    {"GET / HTTP/+1.1\r\n", bad_version},
    {"GET / HTTPS/1.1\r\n", bad_version},
    {"GET / HTTP/2.0\r\n", unsupported_version},
    {"GET / HTTP/0.9\r\n", unsupported_version},
    {"GET /a#b HTTP/1.1\r\n", bad_target},
    {"GET /a\tb HTTP/1.1\r\n", bad_target},
    {"GET /a\0b HTTP/1.1\r\n"sv, bad_target},
    {"GET /a\x7f HTTP/1.1\r\n", bad_target},
    {"GET /<a> HTTP/1.1\r\n", bad_target},
    {"GET /\" HTTP/1.1\r\n", bad_target},
    {"GET a HTTP/1.1\r\n", bad_target_form},
    {"GET a:80 HTTP/1.1\r\n", bad_target_form},
    {"GET * HTTP/1.1\r\n", bad_target_form},
    {"GET 1http://a/ HTTP/1.1\r\n", bad_target_form},
    {"GET http:/a HTTP/1.1\r\n", bad_target_form},
    {"GET http:///a HTTP/1.1\r\n", bad_host},
    {"GET http://u@a/ HTTP/1.1\r\n", bad_host},
    {"GET http://a:b/ HTTP/1.1\r\n", bad_host},
    {"CONNECT / HTTP/1.1\r\n", bad_target_form},
    {"CONNECT a HTTP/1.1\r\n", bad_target_form},
    {"CONNECT a: HTTP/1.1\r\n", bad_target_form},
    {"CONNECT [::1] HTTP/1.1\r\n", bad_target_form},
    {"CONNECT http://a:80 HTTP/1.1\r\n", bad_target_form},
    {"\r\n\r\n\r\nGET / HTTP/1.1\r\n", too_many_empty_lines},
    {"\nGET / HTTP/1.1\r\n", bare_line_feed},
    {"\rGET / HTTP/1.1\r\n", bare_carriage_return},
};

constexpr refused bad_fields[] = {
    {GET " X: y\r\n", folded_field},
    {GET "X: y\r\n z\r\n", folded_field},
    {GET "X: y\r\n\tz\r\n", folded_field},
    {"GET / HTTP/1.1\r\n Host: a\r\n", folded_field},
    {GET "X : y\r\n", space_before_colon},
    {GET "X\t: y\r\n", space_before_colon},
    {GET ": y\r\n", empty_field_name},
    {GET "X\r\n", missing_colon},
    {GET "X\n", bare_line_feed},
    {GET "X: y\n", bare_line_feed},
    {GET "\n", bare_line_feed},
    {GET "X: y\rz", bare_carriage_return},
    {GET "X: y\r\r\n", bare_carriage_return},
    {GET "\rX", bare_carriage_return},
    {GET "X(: y\r\n", bad_field_name},
    {GET "X\0: y\r\n"sv, bad_field_name},
    {GET "\xc3\xa9: y\r\n", bad_field_name},
    {GET "X: a\0b\r\n"sv, bad_field_value},
    {GET "X: a\x01 b\r\n", bad_field_value},
    {GET "X: a\x7f\r\n", bad_field_value},
    {GET "A-name-with-more-than-sixteen-bytes-before-the-bad-one\x0b: y\r\n", bad_field_name},
    {GET "X: a value with more than sixteen bytes before the bad one\x0c\r\n", bad_field_value},
    {GET "Connection: close;x\r\n\r\n", bad_connection},
    {GET "Connection: \"close\"\r\n\r\n", bad_connection},
    {"GET / HTTP/1.1\r\n\r\n", missing_host},
    {"GET http://a/ HTTP/1.1\r\n\r\n", missing_host},
    {"GET / HTTP/1.1\r\nHost:\r\n\r\n", bad_host},
    {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", bad_host},
    {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", bad_host},
    {"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", bad_host},
    {"GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", bad_host},
    {"GET / HTTP/1.1\r\nHost: a:8x\r\n\r\n", bad_host},
    {"GET / HTTP/1.1\r\nHost: :80\r\n\r\n", bad_host},
    {"GET / HTTP/1.1\r\nHost: [abcd]\r\n\r\n", bad_host},
    {"GET http://[abcd]/ HTTP/1.1\r\n", bad_host},
    {"GET / HTTP/1.1\r\nHost: a%2\r\n\r\n", bad_host},
    {"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", bad_host},
    {"GET / HTTP/1.1\r\nHost: []\r\n\r\n", bad_host},
    {"GET / HTTP/1.1\r\nHost: [::g]\r\n\r\n", bad_host},
    {"GET / HTTP/1.1\r\nHost: [::1]x\r\n\r\n", bad_host},
    {"GET / HTTP/1.1\r\nHost: \xc3\xa9\r\n\r\n", bad_host},
    {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", duplicate_host},
    {"GET / HTTP/1.9\r\n\r\n", missing_host},
    {"GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n", duplicate_host},
    {"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nContent-Length: 3\r\n\r\n", content_on_connect},
};

constexpr accepted good_requests[] = {
    {"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
     "<GET> </> <> </> <> <a> method 1 form 0 HTTP/1.1 framing 0 length 0 keep\nHost <Host> <a>"},
    {"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
     "<GET> </> <> </> <> <a> method 1 form 0 HTTP/1.1 framing 0 length 0 keep\nHost <Host> <a>"},
    {"GET /a/b?c=%20&d? HTTP/1.1\r\nhOST:\t a.b:80 \t\r\n\r\n",
     "<GET> </a/b?c=%20&d?> <> </a/b> <c=%20&d?> <a.b:80> method 1 form 0 query HTTP/1.1 framing 0 "
     "length 0 keep\nHost <hOST> <a.b:80>"},
    // curl sends a query as it was typed.
    {"GET /\xc3\xa4?\xff-a-query-of-more-than-sixteen-bytes-\xc3\xb6 HTTP/1.1\r\nHost: a\r\n\r\n",
     "<GET> </\xc3\xa4?\xff-a-query-of-more-than-sixteen-bytes-\xc3\xb6> <> </\xc3\xa4> "
     "<\xff-a-query-of-more-than-sixteen-bytes-\xc3\xb6> <a> method 1 form 0 query HTTP/1.1 "
     "framing "
     "0 length 0 keep\nHost <Host> <a>"},
    {"GET / HTTP/1.2\r\nHost: a\r\n\r\n",
     "<GET> </> <> </> <> <a> method 1 form 0 HTTP/1.1 framing 0 length 0 keep\nHost <Host> <a>"},
    {"GET / HTTP/1.0\r\n\r\n",
     "<GET> </> <> </> <> <> method 1 form 0 HTTP/1.0 framing 0 length 0 close"},
    {"GET / HTTP/1.0\r\nConnection: x, ,Keep-Alive\r\nUpgrade: y\r\n\r\n",
     "<GET> </> <> </> <> <> method 1 form 0 HTTP/1.0 framing 0 length 0 keep\nConnection "
     "<Connection> <x, "
     ",Keep-Alive>\nUpgrade <Upgrade> <y>"},
    {"GET / HTTP/1.1\r\nHost: [::1]:8080\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n",
     "<GET> </> <> </> <> <[::1]:8080> method 1 form 0 HTTP/1.1 framing 0 length 0 close\nHost "
     "<Host> "
     "<[::1]:8080>\nConnection <Connection> <keep-alive>\nConnection <Connection> <close>"},
    {"M-SEARCH http://x.y:1?q HTTP/1.1\r\nHost: other\r\n\r\n",
     "<M-SEARCH> <http://x.y:1?q> <http> </> <q> <x.y:1> method 0 form 1 query HTTP/1.1 framing 0 "
     "length 0 keep\nHost <Host> <other>"},
    {"OPTIONS * HTTP/1.1\r\nHost:\r\n\r\n",
     "<OPTIONS> <*> <> <*> <> <> method 7 form 3 HTTP/1.1 framing 0 length 0 keep\nHost <Host> <>"},
    {"OPTIONS http://x HTTP/1.1\r\nHost: x\r\n\r\n",
     "<OPTIONS> <http://x> <http> <*> <> <x> method 7 form 1 HTTP/1.1 framing 0 length 0 "
     "keep\nHost "
     "<Host> <x>"},
    {"CONNECT a:443 HTTP/1.1\r\nHost: b\r\nContent-Length: 0\r\n\r\n",
     "<CONNECT> <a:443> <> <> <> <a:443> method 6 form 2 HTTP/1.1 framing 0 length 0 given "
     "keep\nHost "
     "<Host> <b>\nContent-Length <Content-Length> <0>"},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 005\r\nExpect: 100-Continue\r\n\r\nhello",
     "<POST> </> <> </> <> <a> method 3 form 0 expect HTTP/1.1 framing 1 length 5 given keep\nHost "
     "<Host> <a>\nContent-Length <Content-Length> <005>\nExpect <Expect> <100-Continue>"},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\tChunKed \r\n\r\n0\r\n\r\n",
     "<POST> </> <> </> <> <a> method 3 form 0 HTTP/1.1 framing 2 length 0 keep\nHost <Host> "
     "<a>\nTransfer-Encoding "
     "<Transfer-Encoding> <ChunKed>"},
    {"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX_1: \xff\r\n\r\n",
     "<GET> </> <> </> <> <a> method 1 form 0 HTTP/1.1 framing 0 length 0 keep upgrade\nHost "
     "<Host> "
     "<a>\nConnection <Connection> <Upgrade>\nUpgrade <Upgrade> <websocket>\n <X_1> <\xff>"},
};

}  // namespace

TEST(request_parser, refuses_each_malformed_start_line_for_its_reason) {
    for (const refused& entry : bad_start_lines) {
        const verdict result = parse_every_way(entry.bytes);
        EXPECT_EQ(result.status, parse_status::error) << entry.bytes;
        EXPECT_EQ(result.error, entry.error) << entry.bytes << describe(result.error);
    }
}

TEST(request_parser, refuses_each_malformed_field_line_for_its_reason) {
    for (const refused& entry : bad_fields) {
        const verdict result = parse_every_way(entry.bytes);
        EXPECT_EQ(result.status, parse_status::error) << entry.bytes;
        EXPECT_EQ(result.error, entry.error) << entry.bytes << describe(result.error);
    }
}

TEST(request_parser, understands_each_good_head) {
    for (const accepted& entry : good_requests) {
        const verdict result = parse_every_way(entry.bytes);
        EXPECT_EQ(result.status, parse_status::complete) << describe(result.error) << entry.bytes;
        EXPECT_EQ(result.head, entry.head);
        EXPECT_EQ(result.consumed, entry.bytes.find("\r\n\r\n", 4) + 4);
    }
}

TEST(request_parser, wants_more_for_every_strict_prefix_of_a_good_head) {
    for (const accepted& entry : good_requests) {
        const std::size_t size = parse_whole(entry.bytes).consumed;
        for (std::size_t cut = 0; cut < size; ++cut) {
            EXPECT_EQ(parse_whole(entry.bytes.substr(0, cut)).status, parse_status::need_more);
        }
    }
}

TEST(request_parser, refuses_every_control_byte_at_every_place_of_a_head) {
    const std::string good =
        "GET /abc HTTP/1.1\r\nHost: a\r\nX-Long-Enough-Name: some value\r\n\r\n";
    for (std::size_t at = 0; at < good.size(); ++at) {
        for (int byte = 0; byte < 0x20; ++byte) {
            std::string bad = good;
            bad[at] = static_cast<char>(byte);
            // Tabs are allowed around and inside values, and a byte may stand where it stood.
            if (bad == good || (byte == '\t' && good.rfind(':', at) > good.rfind('\n', at) &&
                                good.rfind(':', at) < at)) {
                continue;
            }
            const verdict result = parse_whole(bad);
            EXPECT_NE(result.status, parse_status::complete) << at << ' ' << byte;
            EXPECT_EQ(run<request_side>(bad, 0, 1, scan_mode::scalar, {}), result);
        }
    }
}

TEST(request_parser, parses_pipelined_requests_one_after_another) {
    const std::string first = "GET /1 HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n";
    const std::string second = "GET /2 HTTP/1.1\r\nHost: b\r\n\r\n";
    const std::string both = first + second;
    request_parser parser;
    request_head head;
    const parse_result one = parser.parse(both, head);
    ASSERT_EQ(one.consumed, first.size());
    EXPECT_EQ(head.fields.size(), 2U);
    const std::string_view rest = std::string_view{both}.substr(one.consumed);
    ASSERT_EQ(parser.parse(rest, head).status, parse_status::complete);
    EXPECT_EQ(head.path, "/2");
    EXPECT_EQ(head.fields.size(), 1U);
}
