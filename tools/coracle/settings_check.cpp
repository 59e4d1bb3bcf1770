#include "settings_check.hpp"

#include "serve_command.hpp"
#include "settings.hpp"

#include <coracle/fs/plain_file.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace coracle::tool {
namespace {

/// The reason why nothing can be appended to a file; none where that can be done. A file that is
/// not there yet needs a directory that can be written to.
std::error_code why_not_written(const std::filesystem::path& path) {
    std::error_code none;
    if (std::filesystem::is_directory(path, none)) {
        return std::make_error_code(std::errc::is_a_directory);
    }
    if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0) return {};
    if (errno == ENOENT) {
        const std::filesystem::path place = path.has_parent_path() ? path.parent_path() : ".";
        if (::faccessat(AT_FDCWD, place.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return {};
    }
    return {errno, std::generic_category()};
}

void check_log(const serve_settings& settings) {
    const bool is_file = settings.access_log && *settings.access_log != "-";
    if (!is_file || settings.access_log->empty()) return;
    const std::error_code why = why_not_written(*settings.access_log);
    if (why) cannot_write_log(*settings.access_log, why);
}

void check_page(const serve_settings& settings) {
    const std::string& page = settings.files.fallback;
    if (page.empty() || !settings.directory) return;
    const auto root = fs::directory::open(*settings.directory);
    if (root) {
        const auto file = fs::open_beneath(*root, page);
        if (file && file->status().kind == file_kind::regular) return;
    }
    throw failure("cannot serve the page of --spa: '" + page + "' is no file below '" +
                  *settings.directory + "'");
}

}  // namespace

void check_files(const serve_settings& settings) {
    check_log(settings);
    check_page(settings);
}

}  // namespace coracle::tool
