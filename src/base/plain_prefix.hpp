#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace coracle::detail {

/// Returns true for printable ASCII but quotes and backslashes: what needs no escape in quotes, in
/// JSON (RFC 8259 section 7) and in logs.
constexpr bool is_plain(char c) noexcept {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/// Returns the number of plain characters that a text begins with.
inline std::size_t plain_prefix(std::string_view text) noexcept {
    constexpr std::uint64_t ones = 0x0101010101010101;
    constexpr std::uint64_t tops = ones * 0x80;
    const auto has_zero = [](std::uint64_t x) { return (x - ones) & ~x; };
    std::size_t n = 0;
    // Eight at a time: a User-Agent has a hundred.
    for (; text.size() - n >= 8; n += 8) {
        std::uint64_t x = 0;
        std::memcpy(&x, text.data() + n, 8);
        // Below 0x20; from 0x7f on; a quote; a backslash.
        const std::uint64_t found = (x - ones * 0x20) | x | (x + ones) | has_zero(x ^ ones * '"') |
                                    has_zero(x ^ ones * '\\');
        if ((found & tops) != 0) break;
    }
    while (n != text.size() && is_plain(text[n])) ++n;
    return n;
}

}  // namespace coracle::detail
