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

/// Encodes the segments of a text, but not the slashes between them.
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

[[noreturn]] void refuse_value(const route_record& route, std::string_view name,
                               std::string_view value) {
    refuse(route,
           "the parameter " + std::string(name) + " cannot be \"" + std::string(value) + '"');
}

/// Returns a value as expressions match it: encoded slashes stay encoded.
std::string as_matched(std::string_view value) {
    std::string seen;
    for (;;) {
        const std::size_t slash = value.find('/');
        seen += value.substr(0, slash);
        if (slash == std::string_view::npos) return seen;
        seen += "%2F";
        value.remove_prefix(slash + 1);
    }
}

/// Refuses values that the route would not find in `text`, of named groups or of several
/// parameters.
void check_captures(const route_record& route, const pattern_piece& p,
                    std::span<const url_param> values, std::string_view text, bool in_segment) {
    std::string_view found[request::most_params];
    if (!p.regex->match(text, found))
        refuse(route, "it would not match \"" + std::string(text) + '"');
    const std::size_t first = p.regex->values() - p.captures.size();
    for (std::size_t i = 0; i != p.captures.size(); ++i) {
        for (const url_param& v : values) {
            if (v.name != p.captures[i]) continue;
            const std::string wanted = in_segment ? as_matched(v.value) : std::string(v.value);
            if (found[first + i] != wanted) refuse_value(route, v.name, v.value);
        }
    }
}

/// `path` is the part before it.
void check_parameter(const route_record& route, const pattern_piece& p, std::string_view value,
                     std::string_view path) {
    std::string segment(path.substr(path.rfind('/') + 1));
    segment.append(value).append(p.text);
    const bool fits = !value.empty() && !is_dots(segment) &&
                      value.find('\0') == std::string_view::npos &&
                      (p.regex == nullptr || p.regex->matches(as_matched(value)));
    if (!fits) refuse_value(route, p.name, value);
}

/// Builds a segment with several parameters, without the text after the last. `path` is the part
/// before it.
std::string build_parts(const route_record& route, const pattern_piece& p,
                        std::span<const url_param> values, std::string_view path) {
    std::string matched;
    std::string encoded;
    for (const pattern_piece::part& one : p.parts) {
        const std::string_view value = value_of(route, values, one.name);
        const std::string seen = as_matched(value);
        const bool fits = !value.empty() && value.find('\0') == std::string_view::npos &&
                          (one.regex == nullptr || one.regex->matches(seen));
        if (!fits) refuse_value(route, one.name, value);
        matched += seen + one.text;
        encoded += percent_encode(value) + encode_literal(one.text);
    }
    check_captures(route, p, values, matched, true);
    const std::string segment = std::string(path.substr(path.rfind('/') + 1)) + matched + p.text;
    if (is_dots(segment)) refuse(route, "its segment would be \"" + segment + '"');
    return encoded;
}

bool fits_policy(rest_policy policy, std::string_view value) noexcept {
    switch (policy) {
        case rest_policy::segment: return value.find('/') == std::string_view::npos;
        case rest_policy::safe:
            return value.find('\\') == std::string_view::npos &&
                   value.find("%2F") == std::string_view::npos &&
                   value.find("%2f") == std::string_view::npos;
        case rest_policy::any: break;
    }
    return true;
}

void check_rest(const route_record& route, const pattern_piece& p, std::string_view value,
                std::string_view path) {
    // A reference that begins with two slashes continues with a host (RFC 3986 section 4.2).
    const bool names_a_host = path == "/" && value.starts_with('/');
    bool fits = !names_a_host && value.find('\0') == std::string_view::npos &&
                (p.regex == nullptr ? fits_policy(p.policy, value) : p.regex->matches(value));
    for (std::string_view left = value; fits;) {
        const std::size_t slash = left.find('/');
        fits = !is_dots(left.substr(0, slash));
        if (slash == std::string_view::npos) break;
        left.remove_prefix(slash + 1);
    }
    if (!fits) refuse_value(route, p.name, value);
}

}  // namespace

void route_names::add(std::string_view name, record_ref route) {
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), name, is_below);
    if (at != entries_.end() && at->name == name) {
        throw_exception(error(errc::already_exists, "route")
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
        if (!p.parts.empty()) {
            path += build_parts(route, p, values, path) + encode_literal(p.text);
            continue;
        }
        const std::string_view value = value_of(route, values, p.name);
        if (p.what == pattern_piece::kind::rest) {
            check_rest(route, p, value, path);
            if (!p.captures.empty()) check_captures(route, p, values, value, false);
            path += encode_path(value);
        } else {
            check_parameter(route, p, value, path);
            if (!p.captures.empty()) check_captures(route, p, values, as_matched(value), true);
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
