#pragma once

#include <coracle/runtime/clock.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::tool::bench {

/// Reads "10s", "500ms", "2m", "1h", "250us", or a number of seconds; nothing for another text, and
/// for more than 1,000 hours.
std::optional<duration> read_span(std::string_view text);

/// "1.23 ms", "456 us", "7.89 s", with three digits.
std::string latency_text(std::uint64_t nanoseconds);
/// "12,345".
std::string count_text(std::uint64_t n);
/// "10 s", "1.5 s", "2 min".
std::string span_text(duration d);
/// Three digits or more: "0.123", "12.3", "1234".
std::string number_text(double n);

}  // namespace coracle::tool::bench
