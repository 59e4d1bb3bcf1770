#include <coracle/http/h1/parse_error.hpp>

#include <string>

namespace coracle::http::h1 {

namespace {

class category final : public std::error_category {
public:
    const char* name() const noexcept override { return "http/1"; }
    std::string message(int value) const override {
        return std::string{describe(static_cast<parse_error>(value))};
    }
};

}  // namespace

const std::error_category& parse_error_category() noexcept {
    static const category instance;
    return instance;
}

std::error_code make_error_code(parse_error error) noexcept {
    return {static_cast<int>(error), parse_error_category()};
}

std::string_view describe(parse_error error) noexcept {
    using enum parse_error;
    switch (error) {
        case none: return "no error";
        case too_many_empty_lines: return "too many empty lines stand before the request line";
        case bad_method: return "the method is not a token";
        case bad_target: return "the request target holds a byte that must be percent-encoded";
        case bad_target_form: return "the request target has no form that this method allows";
        case bad_start_line:
            return "the start line does not have three parts with one space between them";
        case bad_version: return "the protocol version is not of the form HTTP/1.1";
        case unsupported_version: return "the protocol version is not HTTP/1";
        case bad_status_code: return "the status code is not a number from 100 to 999";
        case bad_reason: return "the reason phrase holds a control byte";
        case bare_line_feed: return "a line ends in LF without CR";
        case bare_carriage_return: return "a CR is not followed by LF";
        case folded_field: return "a field line begins with a space (obsolete line folding)";
        case empty_field_name: return "a field line has no name before its colon";
        case space_before_colon: return "a space stands between a field name and its colon";
        case missing_colon: return "a field line has no colon";
        case bad_field_name: return "a field name is not a token";
        case bad_field_value: return "a field value holds a control byte";
        case bad_content_length: return "Content-Length is not one decimal number below 2^63";
        case duplicate_content_length: return "Content-Length is given more than once";
        case bad_transfer_encoding:
            return "Transfer-Encoding is malformed, or chunked is not its last coding";
        case duplicate_transfer_encoding: return "Transfer-Encoding is given more than once";
        case unsupported_transfer_coding:
            return "a transfer coding other than chunked is not supported";
        case transfer_encoding_in_http_1_0: return "an HTTP/1.0 message has a Transfer-Encoding";
        case transfer_encoding_with_content_length:
            return "both Transfer-Encoding and Content-Length are given";
        case missing_host: return "an HTTP/1.1 request has no Host";
        case duplicate_host: return "Host is given more than once";
        case bad_host: return "a host is not of the form name:port";
        case bad_connection: return "Connection is not a list of tokens";
        case content_on_connect: return "a CONNECT request announces content";
        case request_line_too_long: return "the request line exceeds its limit";
        case status_line_too_long: return "the status line exceeds its limit";
        case field_too_long: return "a field line exceeds its limit";
        case too_many_fields: return "there are more fields than the limit";
        case head_too_large: return "the head of the message exceeds its limit";
        case bad_chunk_size: return "a chunk size is not a hexadecimal number";
        case chunk_size_overflow: return "a chunk size, or the sum of them, is too large";
        case bad_chunk_extension: return "a chunk extension is malformed";
        case bad_chunk_line:
            return "a chunk-size line does not end in CRLF, or has blanks before it";
        case bad_chunk_end: return "the data of a chunk is not followed by CRLF";
        case chunk_line_too_long: return "a chunk-size line exceeds its limit";
        case too_much_chunk_overhead: return "the chunk framing is out of proportion to its data";
        case trailers_too_large: return "the trailer section exceeds its limit";
        case too_many_trailers: return "there are more trailer fields than the limit";
    }
    return "unknown error";
}

status status_for(parse_error error) noexcept {
    using enum parse_error;
    switch (error) {
        case request_line_too_long: return status::uri_too_long;
        case field_too_long:
        case too_many_fields:
        case head_too_large:
        case trailers_too_large:
        case too_many_trailers: return status::request_header_fields_too_large;
        case unsupported_transfer_coding: return status::not_implemented;
        case unsupported_version: return status::http_version_not_supported;
        default: return status::bad_request;
    }
}

}  // namespace coracle::http::h1
