#pragma once

#include <cstddef>
#include <string_view>

namespace coracle {

/// The size in bytes of the character that `text`, which is not empty, begins with; 0 when it may
/// not be shown on a terminal: control characters (U+0000 to U+001F, U+007F to U+009F), which it
/// obeys, and what is no UTF-8 (RFC 3629). Thread-safe.
[[nodiscard]] std::size_t printable_character_size(std::string_view text) noexcept;

}  // namespace coracle
