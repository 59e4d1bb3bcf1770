#pragma once

#include <coracle/runtime/file_operation.hpp>

#include <sys/stat.h>

namespace coracle::detail {

/// What is asked of statx(2) for a `file_status`.
constexpr unsigned wanted_status = STATX_BASIC_STATS | STATX_BTIME;

/// What statx(2) said, in our terms.
file_status status_from(const struct statx& s) noexcept;

}  // namespace coracle::detail
