#pragma once

#include <coracle/base/arena.hpp>

#include <optional>
#include <string_view>

namespace coracle::http::detail {

/// The canonical form of a path: percent-decoded once, but for "%2F", and without dot segments
/// (RFC 3986 section 5.2.4). Returns nothing if a triplet is malformed or decodes to NUL, when
/// ".." would leave the root, and for none, which only a CONNECT has. The result is `path` itself
/// where nothing has to be changed.
std::optional<std::string_view> canonical_path(std::string_view path, arena& memory);

}  // namespace coracle::http::detail
