#include "http/middleware/path_pattern.hpp"

#include "http/message/encode_beyond_ascii.hpp"
#include "http/message/token.hpp"

#include <coracle/base/error.hpp>
#include <coracle/base/url.hpp>

#include <algorithm>

namespace coracle::http::detail {
namespace {

[[noreturn]] void refuse(std::string_view what) {
    error e(std::errc::invalid_argument, "path_rule");
    throw_exception(std::move(e.on(what)));
}

/// Takes the next segment, without the slash before it.
std::string_view take_segment(std::string_view& rest) noexcept {
    rest.remove_prefix(1);
    const std::string_view segment = rest.substr(0, rest.find('/'));
    rest.remove_prefix(segment.size());
    return segment;
}

}  // namespace

std::string encode_canonical(std::string_view path, percent_set keep) {
    // In lower case it is text that came as "%252f"; what came as "%252F" looks as the slash does.
    constexpr std::string_view slash = "%2F";
    std::string out;
    for (;;) {
        const std::size_t at = path.find(slash);
        out += percent_encode(path.substr(0, at), keep);
        if (at == path.npos) return out;
        out += slash;
        path.remove_prefix(at + slash.size());
    }
}

/// Literals, and names in braces. `whole` is for errors.
std::vector<path_pattern::part> path_pattern::split(std::string_view text, std::string_view whole) {
    std::vector<part> all;
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::size_t open = rest.find('{');
        if (open != 0) {
            all.push_back({std::string(rest.substr(0, open))});
            if (all.back().text.find('}') != std::string::npos) refuse(whole);
        }
        if (open == rest.npos) break;
        const std::size_t close = rest.find('}', open);
        if (close == rest.npos) refuse(whole);
        part name{std::string(rest.substr(open + 1, close - open - 1)), true};
        if (name.text.starts_with('*')) {
            name.is_rest = true;
            name.text.erase(0, 1);
        }
        if (!is_token(name.text)) refuse(whole);
        all.push_back(std::move(name));
        rest.remove_prefix(close + 1);
    }
    return all;
}

path_pattern::path_pattern(std::string_view from, std::string_view to) {
    if (!from.starts_with('/')) refuse(from);
    std::string_view rest = from;
    while (!rest.empty()) {
        auto parts = split(take_segment(rest), from);
        if (parts.size() > 1 || (!parts.empty() && parts[0].is_rest && !rest.empty())) refuse(from);
        if (parts.empty()) parts.push_back({});
        if (parts[0].is_name && find(parts[0].text) != nullptr) refuse(from);
        from_.push_back(std::move(parts[0]));
    }
    to_ = split(to, to);
    for (const part& p : to_) {
        if (p.is_rest || (p.is_name && find(p.text) == nullptr)) refuse(to);
    }
    is_absolute_ = !to.starts_with('/');
    const bool has_host = is_absolute_ && !to_.empty() && !to_[0].is_name &&
                          to_[0].text.starts_with("http") && to_[0].text.ends_with('/');
    // The host must be the rule's, whatever the values are.
    if (is_absolute_ && !(has_host && url::parse(to_[0].text))) refuse(to);
    if (!is_absolute_ && (to.starts_with("//") || !is_field_value(to))) refuse(to);
}

const path_pattern::part* path_pattern::find(std::string_view name) const noexcept {
    const auto at =
        std::ranges::find_if(from_, [name](const part& p) { return p.is_name && p.text == name; });
    return at == from_.end() ? nullptr : &*at;
}

bool path_pattern::match(std::string_view path, std::vector<value>& found) const {
    if (!path.starts_with('/')) return false;
    for (const part& p : from_) {
        if (path.empty()) return false;
        if (p.is_rest) {
            found.push_back({p.text, path.substr(1)});
            return true;
        }
        const std::string_view segment = take_segment(path);
        if (p.is_name ? segment.empty() : segment != p.text) return false;
        if (p.is_name) found.push_back({p.text, segment});
    }
    return path.empty();
}

std::optional<std::string> path_pattern::apply(std::string_view path, bool encodes) const {
    std::vector<value> found;
    if (!match(path, found)) return std::nullopt;
    std::string out;
    percent_set keep = percent_set::path;
    for (const part& p : to_) {
        if (!p.is_name) {
            out += encodes ? encode_beyond_ascii(p.text) : p.text;
            if (p.text.find_first_of("?#") != p.text.npos) keep = percent_set::component;
            continue;
        }
        const auto at = std::ranges::find(found, p.text, &value::name);
        out += encodes ? encode_canonical(at->text, keep) : std::string(at->text);
    }
    return out;
}

}  // namespace coracle::http::detail
