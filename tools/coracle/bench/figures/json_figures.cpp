#include "json_figures.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace coracle::tool::bench {

std::string json_number(double n) {
    if (!std::isfinite(n)) return "null";
    std::array<char, 64> text;
    const bool whole = n == std::floor(n) && std::abs(n) < 1e15;
    const auto end = whole ? std::to_chars(text.data(), text.data() + text.size(), n,
                                           std::chars_format::fixed, 0)
                           : std::to_chars(text.data(), text.data() + text.size(), n,
                                           std::chars_format::general, 6);
    return {text.data(), end.ptr};
}

std::string json_milliseconds(std::uint64_t nanoseconds) {
    std::string text = std::to_string(nanoseconds % 1'000'000);
    text.insert(0, 6 - text.size(), '0');
    while (!text.empty() && text.back() == '0') text.pop_back();
    const std::string whole = std::to_string(nanoseconds / 1'000'000);
    return text.empty() ? whole : whole + '.' + text;
}

}  // namespace coracle::tool::bench
