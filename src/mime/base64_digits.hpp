#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace coracle::mime::detail {

inline constexpr std::string_view base64_digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
inline constexpr std::string_view base64url_digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
inline constexpr std::uint8_t no_base64_digit = 0xff;

constexpr std::array<std::uint8_t, 256> base64_values_of(std::string_view digits) noexcept {
    std::array<std::uint8_t, 256> values{};
    values.fill(no_base64_digit);
    for (std::size_t i = 0; i != digits.size(); ++i) {
        values[static_cast<unsigned char>(digits[i])] = static_cast<std::uint8_t>(i);
    }
    return values;
}

inline constexpr auto base64_values = base64_values_of(base64_digits);

inline std::uint8_t base64_value(char c) noexcept {
    return base64_values[static_cast<unsigned char>(c)];
}

}  // namespace coracle::mime::detail
