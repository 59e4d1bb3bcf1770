#pragma once

#include <string_view>

namespace coracle::websocket::detail {

/// Takes the first token of a topic or a pattern, and the point behind it.
std::string_view take_token(std::string_view& rest) noexcept;

/// Returns true for a pattern that several topics match.
inline bool is_wild(std::string_view pattern) noexcept {
    return pattern.find_first_of("*>") != std::string_view::npos;
}

/// Returns true for a topic or a pattern: no token is empty; "*" and ">" stand alone, and ">" last.
bool is_pattern(std::string_view text) noexcept;

}  // namespace coracle::websocket::detail
