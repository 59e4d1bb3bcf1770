#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::mime {

/// How quoted_printable_encode treats the ends of lines.
enum class line_ends : std::uint8_t {
    text,    ///< CRLF and LF end a line, and become CRLF
    binary,  ///< CR and LF are bytes like any other
};

/// Encodes `text` as quoted-printable (RFC 2045 section 6.7) in lines of at most 76 characters.
[[nodiscard]] std::string quoted_printable_encode(std::string_view text,
                                                  line_ends ends = line_ends::text);

/// Decodes `text`. Never fails: drops blanks at the end of a line, as a relay may have added them,
/// and keeps an "=" without two hexadecimal digits.
[[nodiscard]] std::string quoted_printable_decode(std::string_view text);

}  // namespace coracle::mime
