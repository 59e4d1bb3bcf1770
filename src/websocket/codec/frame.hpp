#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace coracle::websocket::detail {

/// RFC 6455 section 5.2.
enum class frame_opcode : std::uint8_t {
    continuation = 0,
    text = 1,
    binary = 2,
    close = 8,
    ping = 9,
    pong = 10,
};

constexpr bool is_control(frame_opcode o) noexcept {
    return static_cast<std::uint8_t>(o) >= 8;
}

/// The side that an endpoint is on: frames of clients are masked.
enum class role : std::uint8_t { server, client };

/// Bytes of a frame's header at most, and of the payload of a control frame.
inline constexpr std::size_t max_header = 14;
inline constexpr std::size_t max_control_payload = 125;
/// Bytes of the reason of a close frame at most.
inline constexpr std::size_t max_reason = max_control_payload - 2;

/// The four bytes of a masking key, in the order in which they are sent.
using masking_key = std::uint32_t;

/// The header of a frame.
struct frame_header {
    frame_opcode code = frame_opcode::text;
    bool fin = true;
    bool compressed = false;  ///< RSV1 (RFC 7692 section 6)
    std::uint64_t length = 0;
    std::optional<masking_key> mask = {};
};

/// Returns the bytes that `write_header` takes.
std::size_t header_size(const frame_header& h) noexcept;

/// Writes a header to `out`, which has room for `max_header` bytes. Returns its end.
char* write_header(char* out, const frame_header& h) noexcept;

}  // namespace coracle::websocket::detail
