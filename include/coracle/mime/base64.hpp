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

/// `bytes` as base64. With `line` other than 0 a CRLF follows each `line` characters but the last:
/// 76 for mail (RFC 2045 section 6.8). A multiple of 4.
[[nodiscard]] std::string base64_encode(std::string_view bytes,
                                        base64_alphabet alphabet = base64_alphabet::standard,
                                        std::size_t line = 0);

/// The bytes that `text` stands for; nothing unless it is exactly what base64_encode writes without
/// lines: padding where the alphabet has it, no other bytes, unused bits zero. So each value has
/// one form only, which tokens and keys rely on.
[[nodiscard]] std::optional<std::string> base64_decode(
    std::string_view text, base64_alphabet alphabet = base64_alphabet::standard);

/// The same for the bodies of mail (RFC 2045 section 6.8): bytes outside of the alphabet are passed
/// over, and what is behind the padding is not looked at. Nothing when a single character is left
/// over.
[[nodiscard]] std::optional<std::string> base64_decode_lenient(std::string_view text);

}  // namespace coracle::mime
