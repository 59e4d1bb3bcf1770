#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::mime {

/// A point in time, with the offset of the sender's time zone.
struct date {
    std::int64_t unix_time = 0;  ///< seconds since 1970-01-01 00:00 UTC
    int offset = 0;              ///< minutes east of UTC

    friend bool operator==(const date&, const date&) = default;
};

/// Returns the value of a Date field (RFC 5322 section 3.3): "Tue, 24 Nov 2026 00:03:11 +0100", in
/// English whatever the locale. Years before 1900 and after 9999, and offsets of a day and more,
/// are clamped.
[[nodiscard]] std::string format_date(const date& when);

/// Parses a date in the forms of RFC 5322 and of older mail (section 4.3): without the day of the
/// week, without seconds, with years of two and three digits, with comments, with GMT, EST and
/// similar zones. An unknown zone means +0000. Returns nothing when it is malformed or there is no
/// such day.
[[nodiscard]] std::optional<date> parse_date(std::string_view text);

}  // namespace coracle::mime
