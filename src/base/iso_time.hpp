#pragma once

#include <cstdint>
#include <string>

namespace coracle::detail {

/// Appends a time in seconds since 1970, UTC, as RFC 3339 has it: "2000-10-10T13:55:36Z".
void append_iso_time(std::string& out, std::int64_t unix_time);

}  // namespace coracle::detail
