#pragma once

#include <string>
#include <string_view>

namespace coracle::mime::detail {

/// Returns the value of a structured field without its comments (RFC 2045 section 5.1), in linear
/// time. Only those at its begin, and those that a ";" or the end follows: mailers write names with
/// brackets and no quotes ("name=plan (2).pdf"). One that is not closed stays, with all behind it.
std::string without_comments(std::string_view value);

}  // namespace coracle::mime::detail
