#include "http/router/route_names.hpp"

#include "http/router/segment_regex.hpp"

#include <coracle/base/error.hpp>
#include <coracle/base/percent.hpp>

#include <algorithm>

namespace coracle::http::detail {
namespace {

bool is_below(const route_names::entry& e, std::string_view name) noexcept {
    return e.name < name;
}

[[noreturn]] void refuse(const route_record& route, std::string_view why) {
    throw_exception(
        error(std::errc::invalid_argument, "url").on(route.pattern.text + ": " + std::string(why)));
}

bool is_dots(std::string_view segment) noexcept {
    return segment == "." || segment == "..";
}

/// Encodes the segments of a text, and leaves the slashes between them.
std::string encode_path(std::string_view text) {
    std::string out;
    for (;;) {
        const std::size_t slash = text.find('/');
        out += percent_encode(text.substr(0, slash));
        if (slash == std::string_view::npos) return out;
        out += '/';
        text.remove_prefix(slash + 1);
    }
}

/// A literal may hold an encoded slash, as it is matched.
std::string encode_literal(std::string_view text) {
    std::string out;
    for (;;) {
        const std::size_t slash = text.find("%2F");
        out += encode_path(text.substr(0, slash));
        if (slash == std::string_view::npos) return out;
        out += "%2F";
        text.remove_prefix(slash + 3);
    }
}

std::string_view value_of(const route_record& route, std::span<const url_param> values,
                          std::string_view name) {
    for (const url_param& v : values) {
        if (v.name == name) return v.value;
    }
    refuse(route, "the parameter " + std::string(name) + " is missing");
}

[[noreturn]] void refuse_value(const route_record& route, const pattern_piece& p,
                               std::string_view value) {
    refuse(route, "the parameter " + p.name + " cannot be \"" + std::string(value) + '"');
}

/// A value as an expression sees it: its slashes stay encoded when the path is decoded.
bool matches_encoded(const segment_regex& regex, std::string_view value) {
    std::string seen;
    for (;;) {
        const std::size_t slash = value.find('/');
        seen += value.substr(0, slash);
        if (slash == std::string_view::npos) return regex.matches(seen);
        seen += "%2F";
        value.remove_prefix(slash + 1);
    }
}

/// `path` is what stands in front.
void check_parameter(const route_record& route, const pattern_piece& p, std::string_view value,
                     std::string_view path) {
    std::string segment(path.substr(path.rfind('/') + 1));
    segment.append(value).append(p.text);
    const bool fits = !value.empty() && !is_dots(segment) &&
                      value.find('\0') == std::string_view::npos &&
                      (p.regex == nullptr || matches_encoded(*p.regex, value));
    if (!fits) refuse_value(route, p, value);
}

bool fits_policy(rest_policy policy, std::string_view value) noexcept {
    switch (policy) {
        case rest_policy::segment: return value.find('/') == std::string_view::npos;
        case rest_policy::safe:
            return value.find('\\') == std::string_view::npos &&
                   value.find("%2F") == std::string_view::npos;
        case rest_policy::any: break;
    }
    return true;
}

void check_rest(const route_record& route, const pattern_piece& p, std::string_view value,
                std::string_view path) {
    // Behind two slashes at the beginning of a reference stands a host (RFC 3986 section 4.2).
    const bool names_a_host = path == "/" && value.starts_with('/');
    bool fits =
        !names_a_host && value.find('\0') == std::string_view::npos && fits_policy(p.policy, value);
    for (std::string_view left = value; fits;) {
        const std::size_t slash = left.find('/');
        fits = !is_dots(left.substr(0, slash));
        if (slash == std::string_view::npos) break;
        left.remove_prefix(slash + 1);
    }
    if (!fits) refuse_value(route, p, value);
}

}  // namespace

void route_names::add(std::string_view name, record_ref route) {
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), name, is_below);
    if (at != entries_.end() && at->name == name) {
        throw_exception(error(std::errc::file_exists, "route")
                            .on(route->pattern.text + " cannot be called \"" + std::string(name) +
                                "\" as " + at->route->pattern.text + " is"));
    }
    entries_.insert(at, {std::string(name), std::move(route)});
}

void route_names::remove(const route_record* route) {
    std::erase_if(entries_, [route](const entry& e) { return e.route.get() == route; });
}

const route_record* route_names::find(std::string_view name) const noexcept {
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), name, is_below);
    return at != entries_.end() && at->name == name ? at->route.get() : nullptr;
}

std::string_view route_names::name_of(const route_record* route) const noexcept {
    for (const entry& e : entries_) {
        if (e.route.get() == route) return e.name;
    }
    return {};
}

std::string build_path(const route_record& route, std::span<const url_param> values) {
    std::string path;
    for (const pattern_piece& p : route.pattern.pieces) {
        if (p.what == pattern_piece::kind::literal) {
            path += encode_literal(p.text);
            continue;
        }
        const std::string_view value = value_of(route, values, p.name);
        if (p.what == pattern_piece::kind::rest) {
            check_rest(route, p, value, path);
            path += encode_path(value);
        } else {
            check_parameter(route, p, value, path);
            path += percent_encode(value) + encode_literal(p.text);
        }
    }
    for (const url_param& v : values) {
        if (std::find(route.names.begin(), route.names.end(), v.name) == route.names.end()) {
            refuse(route, "it has no parameter " + std::string(v.name));
        }
    }
    return path;
}

}  // namespace coracle::http::detail
