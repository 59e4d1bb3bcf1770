#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace coracle::detail {

/// Returns the size of the UTF-8 sequence (RFC 3629) at the beginning of `text`, which is not
/// empty; 0 if there is none: overlong forms, surrogates and values above U+10FFFF are invalid.
constexpr std::size_t utf8_sequence(std::string_view text) noexcept {
    const auto at = [text](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const unsigned first = at(0);
    if (first < 0x80) return 1;
    const std::size_t size = first >= 0xc2 && first < 0xe0   ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
    // RFC 3629 section 4: the second byte of some is bounded more narrowly.
    const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (size == 0 || at(1) < low || at(1) > high) return 0;
    for (std::size_t i = 2; i < size; ++i) {
        if ((at(i) & 0xc0) != 0x80) return 0;
    }
    return size;
}

/// Returns the longest beginning of at most `most` bytes that does not end within a character.
constexpr std::string_view utf8_prefix(std::string_view text, std::size_t most) noexcept {
    if (text.size() <= most) return text;
    while (most != 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
    return text.substr(0, most);
}

/// Appends `text` with U+FFFD in place of each byte that is not UTF-8.
void append_utf8(std::string& out, std::string_view text);

}  // namespace coracle::detail
