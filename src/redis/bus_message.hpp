#pragma once

#include <coracle/websocket/message.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The form in which messages of topics travel, and the names of channels, without a socket.
namespace coracle::redis::detail {

using node_id = std::array<std::uint64_t, 2>;

/// A message with its origin: a random number for the process, and a count there.
struct bus_message {
    node_id from{};
    std::uint64_t number = 0;
    websocket::message_type type = websocket::message_type::text;
    bool retain = false;
    std::string_view payload = {};  ///< into what was parsed

    std::string encode() const;
    /// Gives nothing when the bytes are none of ours.
    static std::optional<bus_message> parse(std::string_view bytes) noexcept;
};

/// Returns the glob of PSUBSCRIBE and HSCAN that matches all topics that a pattern does, and
/// perhaps more: its "*" goes across points.
std::string glob_of(std::string_view pattern);
/// Returns a text that as a glob matches nothing but itself.
std::string escape_glob(std::string_view text);

}  // namespace coracle::redis::detail
