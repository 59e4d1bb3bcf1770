#pragma once

#include "http/h2/frame.hpp"

#include <cstddef>
#include <cstdint>

namespace coracle::http::h2 {

/// The identifiers of RFC 9113 section 6.5.2, RFC 8441 section 3 and RFC 9218 section 2.1.
enum class setting : std::uint16_t {
    header_table_size = 0x1,
    enable_push = 0x2,
    max_concurrent_streams = 0x3,
    initial_window_size = 0x4,
    max_frame_size = 0x5,
    max_header_list_size = 0x6,
    enable_connect_protocol = 0x8,
    no_rfc7540_priorities = 0x9,
};

/// Bytes of a setting: its identifier and its value (RFC 9113 section 6.5.1).
inline constexpr std::size_t setting_size = 6;

/// The settings that the peer sent last; before that, the defaults.
struct peer_settings {
    static constexpr std::uint32_t unlimited = 0xffffffff;

    std::uint32_t max_concurrent_streams = unlimited;
    std::uint32_t initial_window = default_window;
    std::uint32_t max_frame_size = default_max_frame_size;
    std::uint32_t max_header_list_size = unlimited;
    bool extended_connect = false;  ///< RFC 8441
};

}  // namespace coracle::http::h2
