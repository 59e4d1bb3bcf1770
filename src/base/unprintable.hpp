#pragma once

#include <string>
#include <string_view>

namespace coracle::detail {

/// `text` as one line that a terminal takes for nothing but text: control characters, and bytes
/// that are no UTF-8, are written as \xhh.
std::string escape_unprintable(std::string_view text);

}  // namespace coracle::detail
