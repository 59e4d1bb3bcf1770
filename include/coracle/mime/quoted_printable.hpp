#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::mime {

/// What the ends of lines are to quoted_printable_encode.
enum class line_ends : std::uint8_t {
    text,    ///< CRLF and LF end a line, and become CRLF
    binary,  ///< CR and LF are bytes like others
};

/// `text` as quoted-printable (RFC 2045 section 6.7): lines of at most 76 characters.
[[nodiscard]] std::string quoted_printable_encode(std::string_view text,
                                                  line_ends ends = line_ends::text);

/// What `text` stands for. Never fails: blanks at the end of a line are dropped, as a relay may
/// have added them, and an "=" without two hexadecimal digits is itself.
[[nodiscard]] std::string quoted_printable_decode(std::string_view text);

}  // namespace coracle::mime
