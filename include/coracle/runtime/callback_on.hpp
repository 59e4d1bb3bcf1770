#pragma once

#include <cstdint>

namespace coracle {

/// The thread on which a callback is called.
enum class callback_on : std::uint8_t {
    callback_thread,  ///< a thread that loops do not wait for: it may take its time
    loop,             ///< the loop that ran the operation: soonest, but everything waits for it
};

}  // namespace coracle
