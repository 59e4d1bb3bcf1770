#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::http {

/// The length of every IMF-fixdate: "Sun, 06 Nov 1994 08:49:37 GMT".
inline constexpr std::size_t http_date_size = 29;

/// Writes the IMF-fixdate (RFC 9110 section 5.6.7) of a time in seconds since 1970, UTC, into the
/// 29 bytes at `out`; no terminator. Times outside the years 0 to 9999 are clamped to them.
void format_http_date(char out[http_date_size], std::int64_t unix_seconds) noexcept;

/// Formats a time of the system clock: for Last-Modified, Expires and their like.
[[nodiscard]] std::string format_http_date(std::chrono::sys_seconds time);

/// The time that `text` names, in seconds since 1970, UTC. Reads the three forms of RFC 9110
/// section 5.6.7 (IMF-fixdate, RFC 850, asctime) and nothing else: exact case, exact spacing, a day
/// that exists, and the right day of the week where the year has four digits. The two-digit year of
/// the RFC 850 form means 1970 to 2069. A leap second (":60") counts as the second after.
/// `std::chrono::sys_seconds(std::chrono::seconds(*parse_http_date(text)))` is a time of the system
/// clock.
[[nodiscard]] std::optional<std::int64_t> parse_http_date(std::string_view text) noexcept;

}  // namespace coracle::http
