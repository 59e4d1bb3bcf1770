#pragma once

#include <coracle/runtime/clock.hpp>

#include <chrono>
#include <cstdio>
#include <string>

namespace coracle::http::detail {

/// Appends "12.3".
inline void append_milliseconds(std::string& text, duration d) {
    char number[32];
    const std::chrono::duration<double, std::milli> ms = d;
    std::snprintf(number, sizeof number, "%.1f", ms.count());
    text += number;
}

}  // namespace coracle::http::detail
