#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace coracle::detail {

/// Enough for any time: "-32767-10-10T13:55:36Z".
inline constexpr std::size_t longest_iso_time = 24;

/// Writes at most `longest_iso_time` bytes, a time in seconds since 1970, UTC, in the format of
/// RFC 3339: "2000-10-10T13:55:36Z". Returns their end.
char* write_iso_time(char* to, std::int64_t unix_time) noexcept;

/// Appends what `write_iso_time` writes.
void append_iso_time(std::string& out, std::int64_t unix_time);

}  // namespace coracle::detail
