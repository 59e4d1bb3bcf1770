#include "h1_cuts.hpp"

#include <string>
#include <string_view>

using namespace coracle::http;
using namespace coracle::http::h1;
using namespace coracle::http::h1::test;
using namespace std::literals;

namespace {

using enum parse_error;

struct attack {
    std::string_view fields;
    parse_error error;
};

// Ways to make two recipients disagree about where a body ends.
constexpr attack attacks[] = {
    // both lengths
    {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", transfer_encoding_with_content_length},
    {"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", transfer_encoding_with_content_length},
    {"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", transfer_encoding_with_content_length},
    {"Transfer-Encoding: identity\r\nContent-Length: 5\r\n", transfer_encoding_with_content_length},
    // two lengths
    {"Content-Length: 5\r\nContent-Length: 6\r\n", duplicate_content_length},
    {"Content-Length: 5\r\nContent-Length: 5\r\nContent-Length: 6\r\n", duplicate_content_length},
    {"Content-Length: 6\r\nContent-Length: 5\r\nContent-Length: 6\r\n", duplicate_content_length},
    {"Content-Length: 5\r\nContent-Length: x\r\n", duplicate_content_length},
    {"Content-Length: 5,5\r\nContent-Length: 6\r\n", duplicate_content_length},
    {"Content-Length: 5,6\r\n", bad_content_length},
    {"Content-Length: 5,x\r\n", bad_content_length},
    {"Content-Length: 5\r\nContent-Length:\r\n", duplicate_content_length},
    {"Content-Length: ,\r\n", bad_content_length},
    // not a length
    {"Content-Length:\r\n", bad_content_length},
    {"Content-Length: +5\r\n", bad_content_length},
    {"Content-Length: -5\r\n", bad_content_length},
    {"Content-Length: 0x5\r\n", bad_content_length},
    {"Content-Length: 5.0\r\n", bad_content_length},
    {"Content-Length: 5 5\r\n", bad_content_length},
    {"Content-Length: 5;\r\n", bad_content_length},
    {"Content-Length: \"5\"\r\n", bad_content_length},
    {"Content-Length: 5e1\r\n", bad_content_length},
    {"Content-Length: 9223372036854775808\r\n", bad_content_length},
    {"Content-Length: 18446744073709551616\r\n", bad_content_length},
    {"Content-Length: 18446744073709551621\r\n", bad_content_length},
    {"Content-Length: 99999999999999999999999999\r\n", bad_content_length},
    {"Content-Length: 5\0\r\n"sv, bad_field_value},
    {"Content-Length: \x0b"
     "5\r\n",
     bad_field_value},
    // codings
    {"Transfer-Encoding:\r\n", bad_transfer_encoding},
    {"Transfer-Encoding: ,\r\n", bad_transfer_encoding},
    {"Transfer-Encoding: chunked,\r\n", bad_transfer_encoding},
    {"Transfer-Encoding: ,chunked\r\n", bad_transfer_encoding},
    {"Transfer-Encoding: chunked, chunked\r\n", bad_transfer_encoding},
    {"Transfer-Encoding: chunked, identity\r\n", bad_transfer_encoding},
    {"Transfer-Encoding: chunked;q=1\r\n", bad_transfer_encoding},
    {"Transfer-Encoding: \"chunked\"\r\n", bad_transfer_encoding},
    {"Transfer-Encoding: chunked foo\r\n", bad_transfer_encoding},
    {"Transfer-Encoding: chu\xff"
     "nked\r\n",
     bad_transfer_encoding},
    {"Transfer-Encoding: xchunked\r\n", unsupported_transfer_coding},
    {"Transfer-Encoding: identity\r\n", unsupported_transfer_coding},
    {"Transfer-Encoding: gzip, chunked\r\n", unsupported_transfer_coding},
    {"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", duplicate_transfer_encoding},
    {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", duplicate_transfer_encoding},
    {"Transfer-Encoding: \x0b"
     "chunked\r\n",
     bad_field_value},
    {"Transfer-Encoding: chunked\x0c\r\n", bad_field_value},
    {"Transfer-Encoding: chunked\0\r\n"sv, bad_field_value},
    // names and lines
    {"Transfer-Encoding : chunked\r\n", space_before_colon},
    {"Transfer-Encoding\t: chunked\r\n", space_before_colon},
    {"Content-Length : 5\r\n", space_before_colon},
    {" Transfer-Encoding: chunked\r\n", folded_field},
    {"X: y\r\n Transfer-Encoding: chunked\r\n", folded_field},
    {"Transfer-Encoding:\r\n chunked\r\n", folded_field},
    {"Transfer-Encoding\r\n: chunked\r\n", missing_colon},
    {"X: y\nTransfer-Encoding: chunked\r\n", bare_line_feed},
    {"X: y\rTransfer-Encoding: chunked\r\n", bare_carriage_return},
    {"Transfer-Encoding: chunked\n", bare_line_feed},
    {"Content-Length: 5\r\r\n", bare_carriage_return},
    {"\0Transfer-Encoding: chunked\r\n"sv, bad_field_name},
    {"Transfer\xc2\xa0-Encoding: chunked\r\n", bad_field_name},
    {"Content-Length\x00: 5\r\n"sv, bad_field_name},
    {"Content-Length: 5\r\n\rX", bare_carriage_return},
};

// Tricks in requests that old servers play in responses without harm (RFC 9110 section 8.6).
constexpr attack repeated_lengths[] = {
    {"Content-Length: 5\r\nContent-Length: 5\r\n", duplicate_content_length},
    {"Content-Length: 5\r\ncontent-length: 5\r\nX: y\r\nContent-Length: 5\r\n",
     duplicate_content_length},
    {"Content-Length: 5, 5\r\n", bad_content_length},
    {"Content-Length: 5,5\r\n", bad_content_length},
    {"Content-Length: 5,5\r\nContent-Length: 5\r\n", duplicate_content_length},
};

void expect_refused_in_a_request(const attack& entry) {
    std::string bytes = "POST / HTTP/1.1\r\nHost: a\r\n";
    bytes.append(entry.fields).append("\r\n0\r\n\r\n");
    const verdict result = parse_every_way(bytes);
    EXPECT_EQ(result.status, parse_status::error) << bytes;
    EXPECT_EQ(result.error, entry.error) << bytes << describe(result.error);
}

}  // namespace

TEST(request_smuggling, every_known_trick_is_refused_in_requests) {
    for (const attack& entry : attacks) expect_refused_in_a_request(entry);
    for (const attack& entry : repeated_lengths) expect_refused_in_a_request(entry);
}

TEST(request_smuggling, a_length_that_is_said_again_is_accepted_in_responses) {
    for (const attack& entry : repeated_lengths) {
        std::string bytes = "HTTP/1.1 200 OK\r\n";
        bytes.append(entry.fields).append("\r\n");
        const verdict result = parse_every_way<response_side<>>(bytes);
        EXPECT_EQ(result.status, parse_status::complete) << bytes << describe(result.error);
        EXPECT_NE(result.head.find("length 5"), std::string::npos) << result.head;
        bytes.insert(bytes.size() - 2, "Transfer-Encoding: chunked\r\n");
        EXPECT_EQ(parse_every_way<response_side<>>(bytes).error,
                  transfer_encoding_with_content_length);
    }
}

TEST(request_smuggling, every_known_trick_is_refused_in_responses) {
    for (const attack& entry : attacks) {
        std::string bytes = "HTTP/1.1 200 OK\r\nServer: a\r\n";
        bytes.append(entry.fields).append("\r\n0\r\n\r\n");
        const verdict result = parse_every_way<response_side<>>(bytes);
        EXPECT_EQ(result.status, parse_status::error) << bytes;
        EXPECT_EQ(result.error, entry.error) << bytes << describe(result.error);
    }
}

TEST(request_smuggling, transfer_encoding_on_http_1_0_is_refused) {
    const verdict request =
        parse_every_way("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n");
    EXPECT_EQ(request.error, transfer_encoding_in_http_1_0);
    const verdict response =
        parse_every_way<response_side<>>("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    EXPECT_EQ(response.error, transfer_encoding_in_http_1_0);
}

TEST(request_smuggling, the_largest_content_length_is_that_of_a_file) {
    const verdict result = parse_every_way(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775807\r\n\r\n");
    EXPECT_EQ(result.status, parse_status::complete);
}
