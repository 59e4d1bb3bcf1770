#pragma once

#include <string_view>

namespace coracle::http::detail {

/// Returns true if `text` matches `glob`: "*" stands for any number of bytes, slashes too, "?" for
/// one, and all else for itself. Takes at most |glob| * |text| steps.
bool matches_glob(std::string_view glob, std::string_view text) noexcept;

/// Returns true if the path below the root, without a leading slash, matches: a glob with a slash
/// is compared with the whole path with a slash in front, one without with its last segment.
bool path_matches_glob(std::string_view glob, std::string_view path);

}  // namespace coracle::http::detail
