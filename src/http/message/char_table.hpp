#pragma once

#include <array>
#include <cstdint>

namespace coracle::http {

/// The classes that a byte may belong to; bits of char_table.
enum char_class : std::uint8_t {
    char_token = 1,   ///< tchar, RFC 9110 section 5.6.2
    char_target = 2,  ///< a request target, see is_target
    char_value = 4,   ///< a field value: field-vchar, SP, HTAB, RFC 9110 section 5.5
    char_host = 8,    ///< a reg-name without "%": unreserved and sub-delims, RFC 3986 section 3.2.2
    char_digit = 16,
    char_alpha = 32,
    char_path = 64,          ///< char_target without "?"
    char_lower_token = 128,  ///< char_token without capital letters, RFC 9113 section 8.2.1
};

namespace detail {

constexpr bool char_in(unsigned char byte, const char* set) {
    for (; *set != '\0'; ++set) {
        if (static_cast<unsigned char>(*set) == byte) {
            return true;
        }
    }
    return false;
}

constexpr unsigned bit_if(bool condition, unsigned bit) {
    return condition ? bit : 0U;
}

constexpr std::array<std::uint8_t, 256> make_char_table() {
    std::array<std::uint8_t, 256> table{};
    for (unsigned i = 0; i < 256; ++i) {
        const auto byte = static_cast<unsigned char>(i);
        const bool digit = byte >= '0' && byte <= '9';
        const bool alpha = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
        const bool visible = byte > 0x20 && byte < 0x7f;
        unsigned bits = 0;
        bits |= bit_if(digit || alpha || char_in(byte, "!#$%&'*+-.^_`|~"), char_token);
        bits |= bit_if((visible && !char_in(byte, "#<>\"")) || byte >= 0x80, char_target);
        bits |= bit_if(visible || byte >= 0x80 || byte == ' ' || byte == '\t', char_value);
        bits |= bit_if(digit || alpha || char_in(byte, "-._~!$&'()*+,;="), char_host);
        bits |= bit_if((visible && !char_in(byte, "#<>\"?")) || byte >= 0x80, char_path);
        const bool capital = byte >= 'A' && byte <= 'Z';
        bits |= bit_if((bits & char_token) != 0 && !capital, char_lower_token);
        bits |= bit_if(digit, char_digit);
        bits |= bit_if(alpha, char_alpha);
        table[i] = static_cast<std::uint8_t>(bits);
    }
    return table;
}

}  // namespace detail

inline constexpr std::array<std::uint8_t, 256> char_table = detail::make_char_table();

/// Returns true if `byte` has any bit of `classes`.
[[nodiscard]] constexpr bool is_char(char byte, unsigned classes) noexcept {
    return (char_table[static_cast<unsigned char>(byte)] & classes) != 0;
}

}  // namespace coracle::http
