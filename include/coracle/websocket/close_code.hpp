#pragma once

#include <cstdint>
#include <string>

namespace coracle::websocket {

/// Why a connection ends (RFC 6455 section 7.4). Codes from 3000 on belong to libraries, those from
/// 4000 to 4999 to applications: `close_code(4001)`.
enum class close_code : std::uint16_t {
    normal = 1000,
    going_away = 1001,  ///< the server stops, or a page is left
    protocol_error = 1002,
    unsupported_data = 1003,
    no_status = 1005,  ///< never sent: the close frame had no code
    abnormal = 1006,   ///< never sent: there was no close frame
    invalid_data = 1007,
    policy_violation = 1008,
    message_too_big = 1009,
    missing_extension = 1010,
    internal_error = 1011,
    service_restart = 1012,
    try_again_later = 1013,
    bad_gateway = 1014,
    tls_handshake = 1015,  ///< never sent
};

/// Returns whether an endpoint may send this code (RFC 6455 section 7.4.2).
constexpr bool may_be_sent(close_code c) noexcept {
    const auto n = static_cast<std::uint16_t>(c);
    if (n >= 3000) return n < 5000;
    return n >= 1000 && n <= 1014 && n != 1004 && n != 1005 && n != 1006;
}

/// How a connection has ended.
struct close_status {
    close_code code = close_code::abnormal;
    std::string reason;    ///< UTF-8, at most 123 bytes
    bool by_peer = false;  ///< the peer's close frame came before ours was sent
    bool clean = false;    ///< both close frames were exchanged
};

}  // namespace coracle::websocket
