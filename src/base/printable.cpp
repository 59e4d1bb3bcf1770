#include "base/utf8.hpp"

#include <coracle/base/printable.hpp>

namespace coracle {

std::size_t printable_character_size(std::string_view text) noexcept {
    const auto first = static_cast<unsigned char>(text[0]);
    if (first < 0x20 || first == 0x7f) return 0;
    const std::size_t size = detail::utf8_sequence(text);
    // U+0080 to U+009F: a terminal obeys them like the escapes that they abbreviate.
    const bool control = first == 0xc2 && size == 2 && static_cast<unsigned char>(text[1]) < 0xa0;
    return control ? 0 : size;
}

}  // namespace coracle
