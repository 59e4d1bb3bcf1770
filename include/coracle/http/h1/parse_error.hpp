#pragma once

#include <coracle/http/status.hpp>

#include <cstdint>
#include <string_view>
#include <system_error>

namespace coracle::http::h1 {

/// The reasons why bytes are not a message of HTTP/1. Bytes that follow on the connection have no
/// known meaning: the connection is closed.
enum class parse_error : std::uint8_t {
    none = 0,

    // start line
    too_many_empty_lines,
    bad_method,
    bad_target,
    bad_target_form,
    bad_start_line,
    bad_version,
    unsupported_version,
    bad_status_code,
    bad_reason,

    // field lines
    bare_line_feed,
    bare_carriage_return,
    folded_field,
    empty_field_name,
    space_before_colon,
    missing_colon,
    bad_field_name,
    bad_field_value,

    // what the fields mean together
    bad_content_length,
    duplicate_content_length,
    bad_transfer_encoding,
    duplicate_transfer_encoding,
    unsupported_transfer_coding,
    transfer_encoding_in_http_1_0,
    transfer_encoding_with_content_length,
    missing_host,
    duplicate_host,
    bad_host,
    bad_connection,
    content_on_connect,

    // limits
    request_line_too_long,
    status_line_too_long,
    field_too_long,
    too_many_fields,
    head_too_large,

    // chunked coding
    bad_chunk_size,
    chunk_size_overflow,
    bad_chunk_extension,
    bad_chunk_line,
    bad_chunk_end,
    chunk_line_too_long,
    too_much_chunk_overhead,
    trailers_too_large,
    too_many_trailers,
};

/// The category of these errors, called "http/1".
[[nodiscard]] const std::error_category& parse_error_category() noexcept;

/// Found by std::error_code through argument-dependent lookup.
[[nodiscard]] std::error_code make_error_code(parse_error error) noexcept;

/// Returns one sentence without a final stop, for logs and responses. The text lives forever.
[[nodiscard]] std::string_view describe(parse_error error) noexcept;

/// Returns the status that a server sends before it closes: 400, 414, 431, 501 or 505.
[[nodiscard]] status status_for(parse_error error) noexcept;

}  // namespace coracle::http::h1

template <>
struct std::is_error_code_enum<coracle::http::h1::parse_error> : std::true_type {};
