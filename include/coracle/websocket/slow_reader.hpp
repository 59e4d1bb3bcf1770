#pragma once

#include <cstdint>

namespace coracle::websocket {

/// The policy for a subscriber that reads more slowly than is published, at its bound.
enum class slow_reader : std::uint8_t {
    drop_oldest,  ///< of the messages that wait: for what is soon out of date
    drop_newest,  ///< the message that is published
    disconnect,   ///< with close code 1013
};

}  // namespace coracle::websocket
