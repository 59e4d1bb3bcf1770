#pragma once

#include <coracle/mime/multipart.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::mime {

/// 128 random bits, as `loop::random()` gives them: of what a boundary is made.
struct boundary_seed {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
};

/// Writes the lines of a multipart body around its parts (RFC 2046 section 5.1): for parts of any
/// size, whose bytes the caller sends between them. Without input or output of its own.
class multipart_writer {
public:
    explicit multipart_writer(boundary_seed seed);

    std::string_view boundary() const noexcept { return boundary_; }
    /// The value of Content-Type: `subtype` is "form-data", "mixed", "alternative". Throws
    /// `exception` (`std::errc::invalid_argument`) when it is no token.
    std::string content_type(std::string_view subtype = "form-data") const;

    /// The lines that open the next part; its bytes follow. Throws `exception`
    /// (`std::errc::invalid_argument`) when a name is no token, or a value holds CR, LF or NUL.
    std::string open_part(std::span<const part_field> fields);
    /// The lines that end the body.
    std::string close() const;

private:
    std::string boundary_;
    bool begun_ = false;
};

/// Collects the parts of a multipart body whose size is known beforehand. Parts are held in memory,
/// or told by their size and brought by whoever sends the body. A regular value type.
class multipart_builder {
public:
    explicit multipart_builder(boundary_seed seed) : writer_(seed) {}

    /// A field of a form.
    multipart_builder& add(std::string_view name, std::string_view value);
    /// A file of a form.
    multipart_builder& add_file(std::string_view name, std::string_view filename,
                                std::string_view media_type, std::string_view content);
    /// Any part. Throws as `multipart_writer::open_part`.
    multipart_builder& add_part(std::span<const part_field> fields, std::string_view content);
    /// A file of a form that the sender of the body brings: `size` bytes.
    multipart_builder& add_external(std::string_view name, std::string_view filename,
                                    std::string_view media_type, std::uint64_t size);

    /// What the body is made of: bytes, then, unless it is the last, those that are brought.
    struct segment {
        std::string bytes;
        std::uint64_t external = 0;
    };
    /// In order; the last has the end of the body, and no external bytes.
    std::vector<segment> segments() const;

    std::string content_type(std::string_view subtype = "form-data") const {
        return writer_.content_type(subtype);
    }
    /// Bytes of the whole body.
    std::uint64_t size() const noexcept;
    /// The whole body: only without external parts.
    std::string text() const;

private:
    multipart_writer writer_;
    std::vector<segment> segments_;
    std::string open_;
};

}  // namespace coracle::mime
