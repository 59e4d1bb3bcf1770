#include "http/files/file_path.hpp"

namespace coracle::http::detail {
namespace {

// A canonical path keeps an encoded slash as "%2F", which looks the same as a "%2F" of the name, so
// both are refused.
bool has_encoded_slash(std::string_view path) noexcept {
    for (std::size_t at = path.find('%'); at != std::string_view::npos;
         at = path.find('%', at + 1)) {
        const std::string_view code = path.substr(at + 1, 2);
        if (code == "2F" || code == "2f") return true;
    }
    return false;
}

/// Metadata about a site that its clients ask for (RFC 8615).
constexpr std::string_view well_known = ".well-known";

bool is_safe_segment(std::string_view segment, bool hidden) noexcept {
    if (segment.empty() || segment == "." || segment == "..") return false;
    return hidden || segment.front() != '.';
}

}  // namespace

bool is_safe_file_path(std::string_view path, bool hidden) noexcept {
    if (path.find('\0') != std::string_view::npos || path.find('\\') != std::string_view::npos) {
        return false;
    }
    if (has_encoded_slash(path)) return false;
    if (path.starts_with(well_known) && path.substr(well_known.size()).starts_with('/')) {
        path.remove_prefix(well_known.size() + 1);
    }
    while (!path.empty()) {
        const std::size_t slash = path.find('/');
        if (!is_safe_segment(path.substr(0, slash), hidden)) return false;
        path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
    }
    return true;
}

}  // namespace coracle::http::detail
