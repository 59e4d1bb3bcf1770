#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace coracle::http {
class fields;
}

namespace coracle::http::detail {

/// Consecutive bytes of a representation: the first and the last, counted from 0.
struct content_range {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t size() const noexcept { return last - first + 1; }
    friend bool operator==(const content_range&, const content_range&) = default;
};

/// The value of Content-Range for one part of a representation of `size` bytes (RFC 9110 section
/// 14.4): "bytes 0-9/100".
std::string to_content_range(const content_range& part, std::uint64_t size);
/// The value of Content-Range of a 416: "bytes */100".
std::string to_unsatisfied_range(std::uint64_t size);

/// The ranges that a Range field requests, as they are to be sent.
struct range_plan {
    /// More ranges than this in one field are ignored, as the section allows.
    static constexpr std::size_t most = 16;
    /// Parts with a smaller gap between them are sent as one: the head of a part costs as much.
    static constexpr std::uint64_t least_gap = 80;
    /// The most ranges that may overlap another before the field is ignored.
    static constexpr std::size_t most_overlaps = 2;

    enum class result : std::uint8_t {
        whole,          ///< send the whole representation: 200
        parts,          ///< send `parts()`, at least one: 206
        unsatisfiable,  ///< 416
    };
    result what = result::whole;
    std::size_t count = 0;
    content_range list[most];

    std::span<const content_range> parts() const noexcept { return {list, count}; }
};

/// Plans what to send of a representation of `size` bytes for the value of a Range field (RFC 9110
/// section 14.2). Parts that overlap or nearly touch are joined, in the place of the first of them;
/// the others keep their order. The parts are never longer together than the representation.
///
/// Ignored, so that the whole is sent: another unit than bytes, malformed values, an empty
/// representation, more than `range_plan::most` ranges, and more than `most_overlaps` overlaps
/// (section 17.15; CVE-2011-3192). Ranges that begin after the end are left out, and are
/// unsatisfiable when there is no other.
range_plan parse_ranges(std::string_view value, std::uint64_t size) noexcept;

/// Reads the ranges from the fields of a request: a repeated Range field is ignored.
range_plan requested_ranges(const fields& all, std::uint64_t size) noexcept;

/// The framing of a multipart/byteranges body (RFC 9110 section 14.6): for every part its head and
/// its bytes, then the end.
class multipart_byteranges {
public:
    /// `parts`, `media_type` (of the representation; may be empty) and `boundary` must live as long
    /// as this. The boundary must not occur in the content: `byteranges_boundary`.
    multipart_byteranges(std::span<const content_range> parts, std::uint64_t size,
                         std::string_view media_type, std::string_view boundary) noexcept
        : parts_(parts), size_(size), media_type_(media_type), boundary_(boundary) {}

    /// The media type of the response, with the boundary.
    std::string content_type() const;
    /// Returns the text before the bytes of a part.
    std::string part_head(std::size_t part) const;
    /// Returns the text after the bytes of the last part.
    std::string end() const;
    /// The size of the body: heads, bytes and end.
    std::uint64_t total_size() const noexcept;

private:
    std::span<const content_range> parts_;
    std::uint64_t size_;
    std::string_view media_type_;
    std::string_view boundary_;
};

/// A boundary of 32 hexadecimal digits made of 128 random bits.
std::string byteranges_boundary(std::uint64_t high, std::uint64_t low);

}  // namespace coracle::http::detail
