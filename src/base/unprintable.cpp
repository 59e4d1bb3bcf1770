#include "base/unprintable.hpp"

#include "base/utf8.hpp"

namespace coracle::detail {
namespace {

/// The size of the printable character at the front; 0 when there is none.
std::size_t printable_character(std::string_view text) noexcept {
    const auto first = static_cast<unsigned char>(text[0]);
    if (first < 0x20 || first == 0x7f) return 0;
    const std::size_t size = utf8_sequence(text);
    // U+0080 to U+009F: a terminal obeys them like the escapes that they abbreviate.
    const bool control = first == 0xc2 && size == 2 && static_cast<unsigned char>(text[1]) < 0xa0;
    return control ? 0 : size;
}

}  // namespace

std::string escape_unprintable(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t size = printable_character(text);
        if (size != 0) {
            out += text.substr(0, size);
        } else {
            const auto byte = static_cast<unsigned char>(text[0]);
            out += "\\x";
            out += digits[byte >> 4];
            out += digits[byte & 15];
        }
        text.remove_prefix(size == 0 ? 1 : size);
    }
    return out;
}

}  // namespace coracle::detail
