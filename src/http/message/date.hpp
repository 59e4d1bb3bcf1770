#pragma once

#include <coracle/http/date.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle::http {

/// The time that the Expires of a cookie names, read as leniently as RFC 6265bis section 5.1.1 asks
/// of clients: a time of day, a day of the month, the beginning of a month's English name and a
/// year of two (1970 to 2069) to four digits, in any order and with nearly anything between them.
/// The time zone is not looked at: it is UTC. No year before 1601, no leap second.
[[nodiscard]] std::optional<std::int64_t> parse_cookie_date(std::string_view text) noexcept;

}  // namespace coracle::http
