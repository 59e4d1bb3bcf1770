#pragma once

#include <coracle/mime/multipart.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::mime {

/// 128 random bits, as from `loop::random()`, from which a boundary is made.
struct boundary_seed {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
};

/// Writes the lines around the parts of a multipart body (RFC 2046 section 5.1). The caller sends
/// the bytes of the parts, of any size, between them. Does no input or output.
class multipart_writer {
public:
    explicit multipart_writer(boundary_seed seed);

    std::string_view boundary() const noexcept { return boundary_; }
    /// Returns the value of Content-Type; `subtype` is "form-data", "mixed", "alternative". Throws
    /// `exception` (`std::errc::invalid_argument`) when it is not a token.
    std::string content_type(std::string_view subtype = "form-data") const;

    /// Returns the lines that open the next part; its bytes follow. Throws `exception`
    /// (`std::errc::invalid_argument`) when a name is not a token, or a value contains CR, LF or
    /// NUL.
    std::string open_part(std::span<const part_field> fields);
    /// Returns the lines that end the body.
    std::string close() const;

private:
    std::string boundary_;
    bool begun_ = false;
};

/// Builds a multipart body whose size is known beforehand. Its parts are in memory, or external:
/// then only their size is given here, and the sender of the body supplies the bytes. A regular
/// value type.
class multipart_builder {
public:
    explicit multipart_builder(boundary_seed seed) : writer_(seed) {}

    /// Adds a field of a form.
    multipart_builder& add(std::string_view name, std::string_view value);
    /// Adds a file of a form.
    multipart_builder& add_file(std::string_view name, std::string_view filename,
                                std::string_view media_type, std::string_view content);
    /// Adds any part. Throws as `multipart_writer::open_part`.
    multipart_builder& add_part(std::span<const part_field> fields, std::string_view content);
    /// Adds an external file of a form: the sender of the body supplies its `size` bytes.
    multipart_builder& add_external(std::string_view name, std::string_view filename,
                                    std::string_view media_type, std::uint64_t size);

    /// A segment of the body: bytes, followed by `external` bytes that the sender supplies.
    struct segment {
        std::string bytes;
        std::uint64_t external = 0;
    };
    /// Returns the segments in order; the last one has the end of the body and no external bytes.
    std::vector<segment> segments() const;

    std::string content_type(std::string_view subtype = "form-data") const {
        return writer_.content_type(subtype);
    }
    /// Returns the size of the whole body in bytes.
    std::uint64_t size() const;
    /// Returns the whole body; only without external parts.
    std::string text() const;

private:
    multipart_writer writer_;
    std::vector<segment> segments_;
    std::string open_;
};

}  // namespace coracle::mime
