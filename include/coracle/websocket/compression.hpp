#pragma once

#include <cstddef>
#include <cstdint>

namespace coracle::websocket {

/// Which messages are compressed (permessage-deflate, RFC 7692), where the peer agrees.
enum class compression_mode : std::uint8_t {
    off,
    /// Each message by itself: compressors are shared by all connections of a loop, and one that is
    /// idle holds none.
    per_message,
    /// Messages refer to those before them, as far as the peer agrees: the best ratio, for 300 KiB
    /// of each connection (window of 32 KiB).
    with_context,
};

struct compression_options {
    compression_mode mode = compression_mode::off;
    /// 1 (fast) to 9 (small); the nearest of these is taken for others. Default 6.
    int level = 6;
    /// Our window is 2 to the power of this: 9 to 15, and the nearest of these for others. Default
    /// 15, 32 KiB.
    int window_bits = 15;
    /// Smaller messages are sent as they are. Default 64 bytes.
    std::size_t least = 64;
};

}  // namespace coracle::websocket
