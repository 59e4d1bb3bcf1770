#include "settings_check.hpp"

#include "serve_command.hpp"
#include "settings.hpp"
#include "writable.hpp"

#include <coracle/fs/plain_file.hpp>

#include <system_error>
#include <utility>

namespace coracle::tool {
namespace {

void check_log(const serve_settings& settings) {
    if (!settings.access_log || settings.logs_to_output()) return;
    const std::error_code why = why_not_written(*settings.access_log);
    if (why) cannot_write_log(*settings.access_log, why);
}

}  // namespace

std::optional<std::string> fault_of_page(const serve_settings& settings) {
    const std::string& page = settings.files.fallback;
    if (page.empty() || !settings.directory) return std::nullopt;
    const auto root = fs::directory::open(*settings.directory);
    if (root) {
        const auto file = fs::open_beneath(*root, page);
        if (file && file->status().kind == file_kind::regular) return std::nullopt;
    }
    return "cannot serve the page of --spa: '" + page + "' is no file below '" +
           *settings.directory + "'";
}

void check_handover(const serve_settings& settings) {
    constexpr std::string_view scheme = "unix:";
    std::string path = settings.handover;
    if (path.starts_with(scheme)) path.erase(0, scheme.size());
    // A name of the abstract namespace is in no directory.
    if (path.empty() || path.starts_with('@')) return;
    const std::error_code why = why_not_made(path);
    if (why) throw failure("cannot wait at '" + path + "' of --handover: " + why.message());
}

void check_files(const serve_settings& settings) {
    check_log(settings);
    if (auto fault = fault_of_page(settings)) throw failure(*std::move(fault));
    check_handover(settings);
}

}  // namespace coracle::tool
