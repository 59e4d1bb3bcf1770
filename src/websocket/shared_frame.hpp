#pragma once

#include <coracle/websocket/compression.hpp>
#include <coracle/websocket/message.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::websocket::detail {

/// A whole message as a server sends it, framed once for many connections. Immutable; any thread.
struct shared_frame {
    message_type type = message_type::text;
    std::size_t header = 0;  ///< bytes before the payload
    std::string bytes;
    /// The compressed form, without referring to anything before it; empty where that is not
    /// smaller. For windows of 15 bits.
    std::string compressed;

    std::string_view payload() const noexcept { return std::string_view(bytes).substr(header); }
};

/// The shared messages of a connection that have to wait.
struct shared_backlog {
    void drop_first() noexcept {
        frames.pop_front();
        if (retained != 0) --retained;
    }

    std::deque<std::shared_ptr<const shared_frame>> frames;
    std::size_t retained = 0;  ///< messages that a subscription began with, at most
};

std::shared_ptr<const shared_frame> make_shared_frame(message_type type, std::string_view payload,
                                                      const compression_options& o);

}  // namespace coracle::websocket::detail
