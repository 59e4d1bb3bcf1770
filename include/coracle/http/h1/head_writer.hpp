#pragma once

#include <coracle/http/field_id.hpp>
#include <coracle/http/status.hpp>
#include <coracle/http/version.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

// Every write_x puts bytes at `out` and returns where they end; the caller has made room for at
// least what the x_size of the same name says. Texts are written as they are: they must have passed
// is_token, is_field_value, is_target or is_reason_phrase before (http/message/token.hpp).
namespace coracle::http::h1 {

/// "HTTP/1.1 200 OK" CRLF. A server always says HTTP/1.1, also to a 1.0 client (RFC 9110 section
/// 2.5). An empty `reason` stands for the registered phrase.
[[nodiscard]] constexpr std::size_t status_line_size(std::string_view reason = {}) noexcept {
    return 15 + (reason.empty() ? 32 : reason.size());
}
char* write_status_line(char* out, status code, std::string_view reason = {}) noexcept;

/// "GET /path HTTP/1.1" CRLF.
[[nodiscard]] constexpr std::size_t request_line_size(std::string_view method,
                                                      std::string_view target) noexcept {
    return method.size() + target.size() + 12;
}
char* write_request_line(char* out, std::string_view method, std::string_view target) noexcept;

/// "Name: value" CRLF.
[[nodiscard]] constexpr std::size_t field_size(std::string_view name,
                                               std::string_view value) noexcept {
    return name.size() + value.size() + 4;
}
char* write_field(char* out, std::string_view name, std::string_view value) noexcept;
char* write_field(char* out, field_id id, std::string_view value) noexcept;

/// "Content-Length: 123" CRLF.
inline constexpr std::size_t content_length_size = 38;
char* write_content_length(char* out, std::uint64_t length) noexcept;

/// "Date: " and an IMF-fixdate of 29 bytes (format_http_date) and CRLF.
inline constexpr std::size_t date_size = 37;
char* write_date(char* out, const char* imf_fixdate) noexcept;

/// "Connection: keep-alive" or "Connection: close", CRLF.
inline constexpr std::size_t connection_size = 24;
char* write_connection(char* out, bool keep_alive) noexcept;

/// "Transfer-Encoding: chunked" CRLF.
inline constexpr std::size_t transfer_encoding_size = 28;
char* write_transfer_encoding_chunked(char* out) noexcept;

/// The empty line that ends a head or a trailer section.
inline constexpr std::size_t head_end_size = 2;
char* write_head_end(char* out) noexcept;

/// The line before the data of a chunk: its size, not 0, in hexadecimal, and CRLF. After the data
/// comes write_chunk_end.
inline constexpr std::size_t chunk_header_size = 18;
char* write_chunk_header(char* out, std::uint64_t size) noexcept;

inline constexpr std::size_t chunk_end_size = 2;
char* write_chunk_end(char* out) noexcept;

/// The last chunk's line, "0" CRLF. Trailer fields (write_field) and write_head_end follow.
inline constexpr std::size_t last_chunk_size = 3;
char* write_last_chunk(char* out) noexcept;

}  // namespace coracle::http::h1
