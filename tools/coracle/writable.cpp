#include "writable.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace coracle::tool {

std::error_code why_not_made(const std::filesystem::path& path) {
    const std::filesystem::path place = path.has_parent_path() ? path.parent_path() : ".";
    std::error_code none;
    const bool is_other =
        std::filesystem::exists(place, none) && !std::filesystem::is_directory(place, none);
    if (is_other) return std::make_error_code(std::errc::not_a_directory);
    if (::faccessat(AT_FDCWD, place.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return {};
    return {errno, std::generic_category()};
}

std::error_code why_not_written(const std::filesystem::path& path) {
    std::error_code none;
    if (std::filesystem::is_directory(path, none)) {
        return std::make_error_code(std::errc::is_a_directory);
    }
    if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0) return {};
    if (errno == ENOENT) return why_not_made(path);
    return {errno, std::generic_category()};
}

}  // namespace coracle::tool
