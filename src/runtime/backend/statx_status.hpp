#pragma once

#include <coracle/runtime/file_operation.hpp>

#include <sys/stat.h>

#include <cstdint>

namespace coracle::detail {

/// The fields of statx(2) that a `file_status` needs.
constexpr unsigned wanted_status = STATX_BASIC_STATS | STATX_BTIME;

/// Returns nanoseconds; times after 2262, which 64 bits cannot hold, become the largest value.
std::int64_t saturated_nanoseconds(std::int64_t seconds, std::int64_t nanoseconds) noexcept;

/// Converts the result of statx(2).
file_status status_from(const struct statx& s) noexcept;

}  // namespace coracle::detail
