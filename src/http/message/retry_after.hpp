#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle::http {

/// Reads Retry-After (RFC 9110 section 10.2.3), as a wait from `now`, in seconds since 1970: zero
/// for a date that has passed, ten years for more than that, nothing for what is neither seconds
/// nor a date.
std::optional<std::chrono::seconds> parse_retry_after(std::string_view text,
                                                      std::int64_t now) noexcept;

}  // namespace coracle::http
