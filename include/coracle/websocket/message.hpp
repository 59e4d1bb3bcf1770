#pragma once

#include <coracle/base/buffer.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::websocket {

enum class message_type : std::uint8_t { text, binary };

/// A message that was received whole. Owns its bytes; move-only. Text is UTF-8.
class message {
public:
    message() noexcept = default;
    message(message_type type, buffer bytes) noexcept : bytes_(std::move(bytes)), type_(type) {}

    message_type type() const noexcept { return type_; }
    bool is_text() const noexcept { return type_ == message_type::text; }
    bool is_binary() const noexcept { return type_ == message_type::binary; }
    bool empty() const noexcept { return bytes_.empty(); }
    std::size_t size() const noexcept { return bytes_.size(); }
    /// The bytes; valid as long as the message, wherever that is moved.
    std::string_view data() const noexcept { return bytes_ ? bytes_.view() : std::string_view(); }
    operator std::string_view() const noexcept { return data(); }
    /// A copy.
    std::string str() const { return std::string(data()); }
    /// Gives the bytes away: it is empty then.
    buffer take() noexcept { return std::move(bytes_); }

private:
    buffer bytes_;
    message_type type_ = message_type::text;
};

/// A part of a message, as it comes. Valid until the connection is received from again.
struct piece {
    message_type type = message_type::text;
    bool last = false;  ///< the message ends here
    std::string_view bytes;
};

/// The choice for one message, where compression was agreed on.
enum class compress : std::uint8_t {
    automatic,  ///< from `compression_options::least` bytes on
    never,      ///< what is compressed already, or holds secrets besides what others choose
};

}  // namespace coracle::websocket
