#pragma once

#include <string>
#include <string_view>

namespace coracle::detail {

/// Appends a JSON string (RFC 8259 section 7), with its quotes. Invalid UTF-8 becomes U+FFFD.
/// Escapes control characters, including those beyond ASCII, which terminals interpret.
void append_json_text(std::string& out, std::string_view text);

}  // namespace coracle::detail
