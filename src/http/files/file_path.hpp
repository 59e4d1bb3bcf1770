#pragma once

#include <string_view>

namespace coracle::http::detail {

/// Returns true if `path`, decoded and without a leading slash, may name something below the root:
/// every segment but the last non-empty, none "." or "..", no NUL, backslash or encoded slash, and
/// none that begins with a dot unless `hidden`. The empty path is the root, and a slash at the end
/// names a directory.
bool is_safe_file_path(std::string_view path, bool hidden) noexcept;

}  // namespace coracle::http::detail
