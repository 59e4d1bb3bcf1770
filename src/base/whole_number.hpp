#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace coracle::detail {

/// Reads a text that is nothing but the digits of a number which `T` can hold.
template <std::integral T>
std::optional<T> whole_number(std::string_view text) noexcept {
    T n = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, n);
    if (read.ec != std::errc() || read.ptr != end || text.front() == '-') return std::nullopt;
    return n;
}

}  // namespace coracle::detail
