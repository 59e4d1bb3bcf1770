#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle::http {

class response;

/// The value of a Content-Range field (RFC 9110 section 14.4) in bytes.
struct content_range {
    /// The first and the last byte of the part; neither in a 416.
    std::optional<std::uint64_t> first = {};
    std::optional<std::uint64_t> last = {};
    /// The size of the whole, when the server knows it.
    std::optional<std::uint64_t> whole = {};

    friend bool operator==(const content_range&, const content_range&) = default;
};

/// Reads the value of a Content-Range field, as "bytes 100-199/200", "bytes 0-9/*" or
/// "bytes */200". Returns nothing if it is none, names another unit or contradicts itself.
std::optional<content_range> parse_content_range(std::string_view text) noexcept;

/// Returns the validator that a request for the rest of a content may send as If-Range, from the
/// response that its beginning came with (RFC 9110 section 13.1.5): a strong ETag, or a
/// Last-Modified that was at least a second old then. Empty when there is neither, and for a
/// response that is coded or was decoded, whose validator is not that of the content. It is a view
/// into `from`.
std::string_view if_range_validator(const response& from) noexcept;

/// Returns true if a part (206) has this validator, which must not be empty. A part with another,
/// or none, may be of another version, as that of a server that does not know If-Range: the two
/// must not be put together (RFC 9110 section 15.3.7.3).
bool is_part_of(const response& part, std::string_view validator) noexcept;

}  // namespace coracle::http
