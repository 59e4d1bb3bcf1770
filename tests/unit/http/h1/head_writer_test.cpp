#include "http/message/date.hpp"

#include <coracle/http/h1/chunked_decoder.hpp>
#include <coracle/http/h1/head_parser.hpp>
#include <coracle/http/h1/head_writer.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <string>

using namespace coracle::http;
using namespace coracle::http::h1;

namespace {

// Returns the bytes that `write` puts into a buffer of exactly the promised size; the promise is an
// upper bound.
template <class Write>
std::string written(std::size_t size, Write write) {
    std::string buffer(size, '?');
    char* end = write(buffer.data());
    EXPECT_LE(end, buffer.data() + size);
    buffer.resize(static_cast<std::size_t>(end - buffer.data()));
    return buffer;
}

}  // namespace

TEST(head_writer, writes_status_lines) {
    const auto line = [](status code, std::string_view reason = {}) {
        return written(status_line_size(reason),
                       [&](char* out) { return write_status_line(out, code, reason); });
    };
    EXPECT_EQ(line(status::ok), "HTTP/1.1 200 OK\r\n");
    EXPECT_EQ(line(status::ok, "Fine"), "HTTP/1.1 200 Fine\r\n");
    EXPECT_EQ(line(status::not_found), "HTTP/1.1 404 Not Found\r\n");
    EXPECT_EQ(line(static_cast<status>(299)), "HTTP/1.1 299 \r\n");
}

TEST(head_writer, promises_enough_room_for_every_registered_phrase) {
    for (unsigned code = 100; code < 1000; ++code) {
        const auto value = static_cast<status>(code);
        EXPECT_LE(15 + reason_phrase(value).size(), status_line_size());
    }
}

TEST(head_writer, writes_single_fields) {
    EXPECT_EQ(written(content_length_size, [](char* out) { return write_content_length(out, 0); }),
              "Content-Length: 0\r\n");
    EXPECT_EQ(written(content_length_size,
                      [](char* out) {
                          return write_content_length(out,
                                                      std::numeric_limits<std::uint64_t>::max());
                      }),
              "Content-Length: 18446744073709551615\r\n");
    EXPECT_EQ(written(connection_size, [](char* out) { return write_connection(out, true); }),
              "Connection: keep-alive\r\n");
    EXPECT_EQ(written(connection_size, [](char* out) { return write_connection(out, false); }),
              "Connection: close\r\n");
    EXPECT_EQ(written(transfer_encoding_size, write_transfer_encoding_chunked),
              "Transfer-Encoding: chunked\r\n");
    EXPECT_EQ(written(field_size("Content-Type", ""),
                      [](char* out) { return write_field(out, field_id::content_type, {}); }),
              "Content-Type: \r\n");
    char date[http_date_size];
    format_http_date(date, 784111777);
    EXPECT_EQ(written(date_size, [&](char* out) { return write_date(out, date); }),
              "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
}

TEST(head_writer, writes_a_request_that_the_parser_reads_back) {
    const std::string head = written(400, [](char* out) {
        out = write_request_line(out, "PROPFIND", "/a?b");
        out = write_field(out, field_id::host, "example.org:81");
        out = write_field(out, "X-Thing", "some value");
        out = write_content_length(out, 12345678901);
        out = write_connection(out, false);
        return write_head_end(out);
    });
    request_head parsed;
    const parse_result result = request_parser{}.parse(head, parsed);
    ASSERT_EQ(result.consumed, head.size()) << describe(result.error);
    EXPECT_EQ(parsed.method_text, "PROPFIND");
    EXPECT_EQ(parsed.target, "/a?b");
    EXPECT_EQ(parsed.host, "example.org:81");
    EXPECT_EQ(parsed.content_length, 12345678901U);
    EXPECT_FALSE(parsed.keep_alive);
    EXPECT_EQ(parsed.fields[1].value, "some value");
}

TEST(head_writer, writes_chunks_that_the_decoder_reads_back) {
    const auto header = [](std::uint64_t size) {
        return written(chunk_header_size, [&](char* out) { return write_chunk_header(out, size); });
    };
    EXPECT_EQ(header(1), "1\r\n");
    EXPECT_EQ(header(0xabc0), "abc0\r\n");
    EXPECT_EQ(header(~std::uint64_t{0}), "ffffffffffffffff\r\n");
    const std::string body = header(26) + "abcdefghijklmnopqrstuvwxyz" +
                             written(chunk_end_size, write_chunk_end) +
                             written(last_chunk_size + 20, [](char* out) {
                                 out = write_last_chunk(out);
                                 out = write_field(out, "X-Sum", "1");
                                 return write_head_end(out);
                             });
    chunked_decoder decoder;
    const chunk_event data = decoder.decode(body);
    EXPECT_EQ(data.data, "abcdefghijklmnopqrstuvwxyz");
    EXPECT_EQ(decoder.decode(std::string_view{body}.substr(data.consumed)).status,
              chunk_status::end);
    ASSERT_EQ(decoder.trailers().size(), 1U);
    EXPECT_EQ(decoder.trailers()[0].name, "X-Sum");
}

TEST(request_head, moves_its_views_to_a_copy) {
    std::string bytes = "GET http://a.b?q HTTP/1.1\r\nHost: c\r\nX:\r\n\r\n";
    request_head head;
    ASSERT_EQ(request_parser{}.parse(bytes, head).status, parse_status::complete);
    const std::string copy = bytes;
    rebase(head, bytes.data(), bytes.size(), copy.data());
    bytes.assign(bytes.size(), '#');
    EXPECT_EQ(head.method_text, "GET");
    EXPECT_EQ(head.host, "a.b");
    EXPECT_EQ(head.path, "/");
    EXPECT_EQ(head.query, "q");
    EXPECT_EQ(head.fields[0].value, "c");
    EXPECT_EQ(head.fields[1].name, "X");
    EXPECT_GE(head.fields[1].value.data(), copy.data());
}

TEST(parse_error, has_a_sentence_and_a_code_of_its_own) {
    const std::error_code code = parse_error::bare_line_feed;
    EXPECT_STREQ(code.category().name(), "http/1");
    EXPECT_EQ(code.message(), "a line ends in LF without CR");
    for (int value = 0; value <= static_cast<int>(parse_error::too_many_trailers); ++value) {
        EXPECT_NE(describe(static_cast<parse_error>(value)), "unknown error") << value;
    }
    EXPECT_EQ(describe(static_cast<parse_error>(200)), "unknown error");
    EXPECT_EQ(status_for(parse_error::bare_line_feed), status::bad_request);
    EXPECT_EQ(status_for(parse_error::unsupported_transfer_coding), status::not_implemented);
    EXPECT_EQ(status_for(parse_error::unsupported_version), status::http_version_not_supported);
    EXPECT_EQ(status_for(parse_error::too_many_fields), status::request_header_fields_too_large);
}
