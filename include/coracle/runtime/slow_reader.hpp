#pragma once

#include <cstdint>

namespace coracle {

/// The treatment of a reader of a `broadcast` that falls behind by more than its capacity.
enum class slow_reader : std::uint8_t {
    drop_oldest,  ///< it misses the oldest values, and can see how many
    disconnect,   ///< its next `receive` fails with `errc::too_slow`, and all that follow
    wait,         ///< senders wait for it
};

}  // namespace coracle
