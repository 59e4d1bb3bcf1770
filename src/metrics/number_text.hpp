#pragma once

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

namespace coracle::metrics::detail {

/// The end of the name of each counter.
inline constexpr std::string_view total_suffix = "_total";

/// The shortest text that reads back as the same number; "+Inf", "-Inf" and "NaN" as the formats
/// have them.
inline std::string number_text(double number) {
    if (std::isnan(number)) return "NaN";
    if (std::isinf(number)) return number > 0 ? "+Inf" : "-Inf";
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, number).ptr;
    return {text, end};
}

}  // namespace coracle::metrics::detail
