#pragma once

#include <string>
#include <string_view>

namespace coracle::detail {

/// Returns `text` as one line that is safe for terminals: control characters and invalid UTF-8
/// become \xhh.
std::string escape_unprintable(std::string_view text);

}  // namespace coracle::detail
