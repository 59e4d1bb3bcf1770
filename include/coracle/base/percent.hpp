#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle {

/// The bytes that percent_encode leaves as they are besides the unreserved ones (letters, digits
/// and "-._~", RFC 3986 section 2.3).
enum class percent_set : std::uint8_t {
    component,  ///< nothing more: safe as a path segment and as the name or value in a query
    path,       ///< what a path may hold: also "/", ":", "@" and "!$&'()*+,;="
    query,      ///< what a query may hold: as `path`, and "?"
};

/// `text` with every other byte written as "%XX" in upper case (RFC 3986 section 2.1). "%" itself
/// is always encoded, so encoding twice is not the same as encoding once.
[[nodiscard]] std::string percent_encode(std::string_view text,
                                         percent_set keep = percent_set::component);

/// `text` with each "%XX" turned into its byte; nothing when a "%" is not followed by two
/// hexadecimal digits. The result may hold any byte, NUL included.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);

/// Decodes a name or value of a query or of application/x-www-form-urlencoded (the URL standard,
/// section 5.1): each "+" becomes a space and each "%XX" its byte; a "%" that is not followed by
/// two hexadecimal digits stays as it is, as in "50%".
[[nodiscard]] std::string form_decode(std::string_view text);

/// Decodes as form_decode does, into `out`, which has capacity for `text.size()` bytes and may be
/// where `text` begins. Returns the number of bytes written.
std::size_t form_decode_to(char* out, std::string_view text) noexcept;

}  // namespace coracle
