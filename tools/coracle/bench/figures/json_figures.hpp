#pragma once

#include <cstdint>
#include <string>

namespace coracle::tool::bench {

/// A number of JSON, with six digits at most; "null" for one that JSON does not have.
std::string json_number(double n);

/// Nanoseconds as a number of milliseconds, without rounding.
std::string json_milliseconds(std::uint64_t nanoseconds);

}  // namespace coracle::tool::bench
