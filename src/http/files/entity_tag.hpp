#pragma once

#include <coracle/fs/plain_file.hpp>
#include <coracle/http/fields.hpp>

#include <string>
#include <string_view>

namespace coracle::http::detail {

/// The strong entity tag (RFC 9110 section 8.8.3) of a file, with its quotes: size, time of the
/// last change and inode, in hexadecimal.
std::string entity_tag_of(const file_status& status);

/// The comparison of two tags (RFC 9110 section 8.8.3.2).
enum class tag_comparison : bool { weak, strong };

/// Returns true if one of the field lines `id`, lists of entity tags or "*", has `tag`. Members
/// after a malformed one are ignored.
bool any_tag_matches(const fields& all, field_id id, std::string_view tag,
                     tag_comparison how) noexcept;

}  // namespace coracle::http::detail
