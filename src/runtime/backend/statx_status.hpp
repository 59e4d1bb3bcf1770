#pragma once

#include <coracle/runtime/file_operation.hpp>

#include <sys/stat.h>

#include <cstdint>

namespace coracle::detail {

/// What is asked of statx(2) for a `file_status`.
constexpr unsigned wanted_status = STATX_BASIC_STATS | STATX_BTIME;

/// A time that 64 bits cannot hold, after 2262, is the last that they can.
std::int64_t saturated_nanoseconds(std::int64_t seconds, std::int64_t nanoseconds) noexcept;

/// What statx(2) said, in our terms.
file_status status_from(const struct statx& s) noexcept;

}  // namespace coracle::detail
