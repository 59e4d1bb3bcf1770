#pragma once

#include <charconv>
#include <cmath>
#include <cstdlib>
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

/// The bound of a bucket as other clients write it, because it is a label, whose texts are
/// compared: fixed from 0.0001 to 999999, as "%g" has it, and of OpenMetrics with a point or an
/// exponent ("Canonical Numbers").
inline std::string bound_text(double bound, bool of_openmetrics) {
    char text[32];
    const auto scientific =
        std::to_chars(text, text + sizeof text, bound, std::chars_format::scientific);
    std::string out(text, scientific.ptr);
    const std::size_t e = out.find('e');
    if (e == out.npos) return number_text(bound);
    const int exponent = std::atoi(out.c_str() + e + 1);
    if (exponent < -4 || exponent > 5) return out;
    out.assign(text, std::to_chars(text, text + sizeof text, bound, std::chars_format::fixed).ptr);
    if (of_openmetrics && out.find('.') == out.npos) out += ".0";
    return out;
}

}  // namespace coracle::metrics::detail
