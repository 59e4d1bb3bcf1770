#pragma once

#include <cstdint>

namespace coracle::http::detail {

/// Returns the second in which a file was modified, also before 1970.
constexpr std::int64_t second_of(std::int64_t modified_ns) noexcept {
    constexpr std::int64_t second = 1'000'000'000;
    return modified_ns / second - (modified_ns % second < 0 ? 1 : 0);
}

}  // namespace coracle::http::detail
