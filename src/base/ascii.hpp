#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Classes of ASCII characters, and case, whatever the locale.
namespace coracle::detail {

constexpr char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

inline std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = lower(c);
    return out;
}

inline std::string upper(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c & ~0x20);
    }
    return out;
}

constexpr bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

constexpr bool is_letter(char c) noexcept {
    const char small = lower(c);
    return small >= 'a' && small <= 'z';
}

/// Unreserved characters, which no URL has to encode (RFC 3986 section 2.3).
constexpr bool is_unreserved(char c) noexcept {
    return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

/// RFC 3986 section 2.2.
inline constexpr std::string_view sub_delimiters = "!$&'()*+,;=";

/// A space or a tab.
constexpr bool is_blank(char c) noexcept {
    return c == ' ' || c == '\t';
}

/// Returns the text without blanks at its ends.
constexpr std::string_view trim_blanks(std::string_view text) noexcept {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

/// Returns the value of a hexadecimal digit, or -1.
constexpr int hex_value(char c) noexcept {
    if (is_digit(c)) return c - '0';
    const char small = lower(c);
    return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

/// 16 hexadecimal digits.
inline void append_hex(std::string& out, std::uint64_t bits) {
    for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[bits >> shift & 15U];
}

/// Removes the first item of a list and the separator after it. An empty item at the end does not
/// count.
constexpr std::string_view take_item(std::string_view& list, char separator = ',') noexcept {
    const std::size_t end = list.find(separator);
    const std::string_view item = list.substr(0, end);
    list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
    return item;
}

}  // namespace coracle::detail
