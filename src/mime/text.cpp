#include "mime/text.hpp"

#include "base/utf8.hpp"

#include <algorithm>

namespace coracle::mime::detail {

bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        const std::size_t size = coracle::detail::utf8_sequence(text);
        if (size == 0) return false;
        text.remove_prefix(size);
    }
    return true;
}

bool is_ascii(std::string_view text) noexcept {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string latin_to_utf8(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80) {
            out += c;
        } else {
            out += static_cast<char>(0xc0 | byte >> 6);
            out += static_cast<char>(0x80 | (byte & 0x3f));
        }
    }
    return out;
}

}  // namespace coracle::mime::detail
