#pragma once

#include <coracle/websocket/close_code.hpp>

#include <cstdint>
#include <system_error>

namespace coracle::websocket {

/// Why what a peer sent is refused. Errors of connections have it as their code; the close frame
/// that is sent has `close_code_of(fault)`.
enum class fault : std::uint8_t {
    none = 0,
    reserved_bits,            ///< RSV bits that no extension gave a meaning
    reserved_opcode,          ///< RFC 6455 section 5.2
    not_masked,               ///< a frame of a client (RFC 6455 section 5.1)
    masked,                   ///< a frame of a server
    control_too_long,         ///< more than 125 bytes (RFC 6455 section 5.5)
    control_fragmented,       ///< a control frame without FIN
    length_not_minimal,       ///< a payload length in more bytes than it needs
    length_too_large,         ///< the most significant bit of a 64-bit length is set
    unexpected_continuation,  ///< a continuation frame, and no message has begun
    missing_continuation,     ///< a new message inside of another
    bad_close,                ///< a close frame of one byte, or with a code that is none
    invalid_utf8,             ///< in a text message or in the reason of a close frame
    bad_compression,          ///< no deflate stream (RFC 7692)
    message_too_big,          ///< beyond `limits::message`
    too_many_fragments,       ///< beyond `limits::fragments`
    bad_handshake,  ///< the response to a client's handshake is none (RFC 6455 section 4.1)
    refused,        ///< the server responded to the handshake with another status
    slow_reader,    ///< the peer reads too slowly for what it has subscribed to
};

const std::error_category& fault_category() noexcept;
inline std::error_code make_error_code(fault f) noexcept {
    return {static_cast<int>(f), fault_category()};
}

/// Returns the code of the close frame for it.
close_code close_code_of(fault f) noexcept;

}  // namespace coracle::websocket

template <>
struct std::is_error_code_enum<coracle::websocket::fault> : std::true_type {};
