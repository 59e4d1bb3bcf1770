#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coracle::http::h2 {

/// The types of frames (RFC 9113 section 6, RFC 9218 section 7.1). Others are ignored.
enum class frame_type : std::uint8_t {
    data = 0x0,
    headers = 0x1,
    priority = 0x2,
    rst_stream = 0x3,
    settings = 0x4,
    push_promise = 0x5,
    ping = 0x6,
    goaway = 0x7,
    window_update = 0x8,
    continuation = 0x9,
    priority_update = 0x10,
};

namespace flag {
inline constexpr std::uint8_t end_stream = 0x1;
inline constexpr std::uint8_t ack = 0x1;
inline constexpr std::uint8_t end_headers = 0x4;
inline constexpr std::uint8_t padded = 0x8;
inline constexpr std::uint8_t priority = 0x20;
}  // namespace flag

/// The nine bytes before the payload of each frame (RFC 9113 section 4.1).
struct frame_header {
    static constexpr std::size_t size = 9;

    std::uint32_t length = 0;  ///< size of the payload in bytes
    frame_type type = frame_type::data;
    std::uint8_t flags = 0;
    std::uint32_t stream = 0;  ///< without the reserved bit

    [[nodiscard]] bool has(std::uint8_t bits) const noexcept { return (flags & bits) == bits; }
};

/// Reads `frame_header::size` bytes.
[[nodiscard]] frame_header read_frame_header(const char* bytes) noexcept;

/// Writes `frame_header::size` bytes and returns the position after them.
char* write_frame_header(char* out, const frame_header& header) noexcept;

/// Unsigned numbers in network byte order.
[[nodiscard]] std::uint16_t read_u16(const char* bytes) noexcept;
[[nodiscard]] std::uint32_t read_u32(const char* bytes) noexcept;
char* write_u16(char* out, std::uint16_t value) noexcept;
char* write_u32(char* out, std::uint32_t value) noexcept;

/// The first bytes that a client sends (RFC 9113 section 3.4).
inline constexpr std::string_view client_preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Size of the dependency and weight of RFC 7540, in PRIORITY and HEADERS.
inline constexpr std::size_t priority_size = 5;

inline constexpr std::uint32_t max_stream_id = 0x7fffffff;
inline constexpr std::int64_t max_window = 0x7fffffff;
inline constexpr std::uint32_t default_window = 65535;
inline constexpr std::uint32_t default_max_frame_size = 16384;

}  // namespace coracle::http::h2
