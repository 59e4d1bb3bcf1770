#pragma once

#include <cstdint>
#include <string_view>
#include <system_error>

namespace coracle::http::h2 {

/// The error codes of RST_STREAM and GOAWAY (RFC 9113 section 7).
enum class error_code : std::uint32_t {
    no_error = 0x0,
    protocol_error = 0x1,
    internal_error = 0x2,
    flow_control_error = 0x3,
    settings_timeout = 0x4,
    stream_closed = 0x5,
    frame_size_error = 0x6,
    refused_stream = 0x7,
    cancel = 0x8,
    compression_error = 0x9,
    connect_error = 0xa,
    enhance_your_calm = 0xb,
    inadequate_security = 0xc,
    http_1_1_required = 0xd,
};

/// The category of these errors, called "http/2".
[[nodiscard]] const std::error_category& error_code_category() noexcept;

/// Found by std::error_code through argument-dependent lookup.
[[nodiscard]] std::error_code make_error_code(error_code code) noexcept;

/// Returns the name in the RFC, such as "PROTOCOL_ERROR"; "unknown error code" for others. The text
/// is valid forever.
[[nodiscard]] std::string_view describe(error_code code) noexcept;

}  // namespace coracle::http::h2

template <>
struct std::is_error_code_enum<coracle::http::h2::error_code> : std::true_type {};
