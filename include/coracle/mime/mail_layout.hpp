#pragma once

#include <coracle/base/error.hpp>
#include <coracle/base/unique_function.hpp>
#include <coracle/mime/multipart_builder.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

namespace coracle::mime {

/// A part of a mail to write: content, or further parts.
struct mail_part {
    /// The value of Content-Type; for a part with children "multipart/..." without a boundary.
    std::string content_type = {};
    /// Further fields, complete with their line ends.
    std::string header = {};
    /// Encoded content; not together with `external`.
    std::string content = {};
    /// The sender's number for content that it supplies itself.
    std::optional<std::size_t> external = {};
    /// The encoded size of that content, in bytes; nothing if unknown.
    std::optional<std::uint64_t> external_size = {};
    std::vector<mail_part> children = {};
};

/// Bytes of a mail, followed by external content except in the last segment.
struct mail_segment {
    std::string bytes = {};
    std::optional<std::size_t> external = {};
    std::optional<std::uint64_t> external_size = {};
};

/// Writes a mail as segments, so that external content of any size never has to be in memory.
/// `header` has all fields except MIME-Version and those of the content. `random` supplies seeds
/// for boundaries; a boundary never occurs in content in memory, and cannot occur in
/// quoted-printable or base64. Fails as `append_field` does.
std::expected<std::vector<mail_segment>, error> lay_out_mail(
    std::string header, const mail_part& root, unique_function<boundary_seed()> random);

/// Returns the size of all segments in bytes; nothing when the size of one is unknown.
[[nodiscard]] std::optional<std::uint64_t> size_of(const std::vector<mail_segment>& all) noexcept;

}  // namespace coracle::mime
