#include "base/unprintable.hpp"

#include <coracle/base/printable.hpp>

namespace coracle::detail {

std::string escape_unprintable(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t size = printable_character_size(text);
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
