#pragma once

#include <string>
#include <string_view>

namespace coracle::tool {

/// How messages of WebSocket are shown.
struct message_style {
    bool terminal = false;    ///< control characters are not for it
    bool colours = false;     ///< where it is one
    bool json = false;        ///< texts that are JSON are laid out
    bool raw_binary = false;  ///< binary messages as they are, without an end of line
};

/// Returns a text message as it is shown, with the end of its last line.
std::string text_to_show(std::string_view text, const message_style& style);
/// Returns a binary message as it is shown: lines of offset, 16 bytes in hexadecimal, and as ASCII.
std::string binary_to_show(std::string_view bytes, const message_style& style);

/// Returns true if it is UTF-8, which a text message has to be.
bool is_utf8_text(std::string_view text) noexcept;

}  // namespace coracle::tool
