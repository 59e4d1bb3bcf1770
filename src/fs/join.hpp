#pragma once

#include <string>
#include <string_view>

namespace coracle::fs::detail {

/// Returns the path of a name in a directory.
inline std::string join(std::string_view directory, std::string_view name) {
    std::string path(directory);
    if (!path.ends_with('/')) path += '/';
    path.append(name);
    return path;
}

}  // namespace coracle::fs::detail
