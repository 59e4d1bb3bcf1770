#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::mime {

/// The alphabets of RFC 4648.
enum class base64_alphabet : std::uint8_t {
    standard,  ///< "+" and "/", padded (section 4)
    url,       ///< "-" and "_", without padding (section 5)
};

/// Returns `bytes` as base64. If `line` is not 0, lines have that many characters, a multiple of 4,
/// with CRLF between them: 76 for mail (RFC 2045 section 6.8).
[[nodiscard]] std::string base64_encode(std::string_view bytes,
                                        base64_alphabet alphabet = base64_alphabet::standard,
                                        std::size_t line = 0);

/// Decodes `text` strictly. Returns nothing unless it is exactly what base64_encode writes without
/// line breaks: padding where the alphabet has it, no other bytes, unused bits zero. So each value
/// has one form only, which tokens and keys rely on.
[[nodiscard]] std::optional<std::string> base64_decode(
    std::string_view text, base64_alphabet alphabet = base64_alphabet::standard);

/// Decodes the base64 of mail (RFC 2045 section 6.8): ignores bytes outside of the alphabet and
/// everything after the padding. Returns nothing when a single character is left over.
[[nodiscard]] std::optional<std::string> base64_decode_lenient(std::string_view text);

}  // namespace coracle::mime
