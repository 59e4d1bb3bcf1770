#pragma once

#include <string>
#include <string_view>

namespace coracle::mime::detail {

/// Returns true if all of `text` is UTF-8 (RFC 3629).
bool is_utf8(std::string_view text) noexcept;
/// Converts ISO-8859-1 to UTF-8.
std::string latin_to_utf8(std::string_view text);

}  // namespace coracle::mime::detail
