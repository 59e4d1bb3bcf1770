#pragma once

#include <coracle/base/error.hpp>

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

namespace coracle::mime {

/// The longest line of a header, and the length above which lines are folded, in bytes without CRLF
/// (RFC 5322 section 2.1.1).
inline constexpr std::size_t longest_header_line = 998;
inline constexpr std::size_t preferred_header_line = 78;

/// Appends "Name: value" with its CRLF to a header, folded before spaces (RFC 5322 section 2.2.3)
/// so that lines have at most 78 bytes where the value has spaces to fold at. Blanks at both ends
/// of `value` are removed. Fails with `std::errc::invalid_argument` and the name as subject, and
/// appends nothing, when the name has anything but printable ASCII without colons, when the value
/// contains CR, LF or NUL (a second field could hide in it), and when a line would exceed 998
/// bytes.
std::expected<void, error> append_field(std::string& header, std::string_view name,
                                        std::string_view value);

/// Returns the value of a field without its folds: removes each CRLF or LF before a blank.
[[nodiscard]] std::string unfold(std::string_view value);

}  // namespace coracle::mime
