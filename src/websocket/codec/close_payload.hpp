#pragma once

#include "websocket/codec/frame.hpp"

#include <coracle/websocket/close_code.hpp>
#include <coracle/websocket/fault.hpp>

#include <string_view>

namespace coracle::websocket::detail {

/// The content of a close frame.
struct close_payload {
    close_code code = close_code::no_status;
    std::string_view reason;
};

/// Reads the payload of a close frame (RFC 6455 section 5.5.1) into `out`, which then refers to it.
fault read_close(std::string_view payload, close_payload& out) noexcept;

/// Writes a payload to `out`, which must have `max_control_payload` bytes: nothing for `no_status`.
/// Cuts a too long reason between characters. Returns the end of the payload.
char* write_close(char* out, close_code code, std::string_view reason) noexcept;

}  // namespace coracle::websocket::detail
