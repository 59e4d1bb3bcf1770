#pragma once

#include <string>
#include <string_view>

namespace coracle {

/// `text` as it may stand in an HTML page, between tags or within the quotes of an attribute: "&",
/// "<", ">" and both quotes become references. Control characters but for tab, line feed and
/// carriage return, and bytes that are no UTF-8, become U+FFFD. Not for the names of tags or
/// attributes, scripts, style sheets or URLs (`percent_encode` first).
[[nodiscard]] std::string html_escape(std::string_view text);

}  // namespace coracle
