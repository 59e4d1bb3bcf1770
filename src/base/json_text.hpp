#pragma once

#include <string>
#include <string_view>

namespace coracle::detail {

/// Appends a JSON string (RFC 8259 section 7), with its quotes. What is no UTF-8 becomes U+FFFD.
/// Control characters, also those beyond ASCII, which terminals obey, are escaped.
void append_json_text(std::string& out, std::string_view text);

}  // namespace coracle::detail
