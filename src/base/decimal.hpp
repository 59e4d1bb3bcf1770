#pragma once

#include <charconv>
#include <string>

namespace coracle::detail {

/// Appends `value` with so many digits behind the point, which is a point in every locale.
inline void append_decimal(std::string& out, double value, int digits) {
    char text[352];  // enough for the largest, with 40 digits behind the point
    const auto end =
        std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits);
    out.append(text, end.ptr);
}

}  // namespace coracle::detail
