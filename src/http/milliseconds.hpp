#pragma once

#include "base/decimal.hpp"

#include <coracle/runtime/clock.hpp>

#include <chrono>
#include <string>

namespace coracle::http::detail {

/// Appends "12.3".
inline void append_milliseconds(std::string& text, duration d) {
    const std::chrono::duration<double, std::milli> ms = d;
    coracle::detail::append_decimal(text, ms.count(), 1);
}

}  // namespace coracle::http::detail
