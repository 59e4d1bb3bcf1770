#include "http/client/set_cookie_line.hpp"

#include "base/ascii.hpp"
#include "http/message/cookie_rules.hpp"
#include "http/message/date.hpp"
#include "http/message/token.hpp"

#include <algorithm>
#include <limits>

namespace coracle::http::detail {
namespace {

using coracle::detail::lower;
using coracle::detail::take_item;

/// Returns true for control characters other than tab, which could end a line elsewhere.
bool has_control_bytes(std::string_view text) noexcept {
    return std::any_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && c != '\t') || byte == 0x7f;
    });
}

/// Returns the time of expiry by Max-Age (section 5.6.2); nothing unless it is a number.
std::optional<std::int64_t> read_max_age(std::string_view text, std::int64_t now) noexcept {
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    if (text.empty()) return std::nullopt;
    std::int64_t seconds = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') return std::nullopt;
        // More digits make no difference.
        seconds = std::min<std::int64_t>(seconds * 10 + (c - '0'), most_cookie_seconds);
    }
    if (negative || seconds == 0) return std::numeric_limits<std::int64_t>::min();
    return now + seconds;
}

http::same_site read_same_site(std::string_view text) noexcept {
    if (equal_ignoring_case(text, "strict")) return http::same_site::strict;
    if (equal_ignoring_case(text, "lax")) return http::same_site::lax;
    if (equal_ignoring_case(text, "none")) return http::same_site::none;
    return http::same_site::unset;
}

/// The last one of a repeated attribute counts; Max-Age has priority over Expires (section 5.7).
struct attributes {
    set_cookie_line& out;
    std::int64_t now;
    std::optional<std::int64_t> max_age;

    void take(std::string_view name, std::string_view value) {
        if (equal_ignoring_case(name, "expires")) {
            if (const auto at = parse_cookie_date(value)) out.expires = at;
        } else if (equal_ignoring_case(name, "max-age")) {
            if (const auto at = read_max_age(value, now)) max_age = at;
        } else if (equal_ignoring_case(name, "domain")) {
            if (value.starts_with('.')) value.remove_prefix(1);
            out.domain = lower(value);
        } else if (equal_ignoring_case(name, "path")) {
            out.path = value.starts_with('/') ? value : std::string_view();
        } else if (equal_ignoring_case(name, "secure")) {
            out.secure = true;
        } else if (equal_ignoring_case(name, "httponly")) {
            out.http_only = true;
        } else if (equal_ignoring_case(name, "samesite")) {
            out.same_site = read_same_site(value);
        }
    }
};

}  // namespace

cookie_verdict check_pair(std::string_view name, std::string_view value) noexcept {
    if (name.empty() && value.empty()) return cookie_verdict::malformed;
    if (has_control_bytes(name) || has_control_bytes(value)) return cookie_verdict::malformed;
    if (name.size() + value.size() > most_cookie_bytes) return cookie_verdict::too_large;
    // In the Cookie field it would be taken for a name.
    if (name.empty() && demands_of(value).secure) return cookie_verdict::prefix;
    return cookie_verdict::stored;
}

cookie_verdict read_set_cookie(std::string_view line, std::int64_t now, set_cookie_line& out) {
    if (has_control_bytes(line)) return cookie_verdict::malformed;
    const std::string_view pair = take_item(line, ';');
    const std::size_t equals = pair.find('=');
    const bool named = equals != std::string_view::npos;
    out.name = named ? trim_ows(pair.substr(0, equals)) : std::string_view();
    out.value = trim_ows(named ? pair.substr(equals + 1) : pair);
    const cookie_verdict verdict = check_pair(out.name, out.value);
    if (verdict != cookie_verdict::stored) return verdict;

    attributes all{out, now, {}};
    while (!line.empty()) {
        const std::string_view attribute = take_item(line, ';');
        const std::size_t end = attribute.find('=');
        const std::string_view value = end == std::string_view::npos
                                           ? std::string_view()
                                           : trim_ows(attribute.substr(end + 1));
        if (value.size() > most_cookie_attribute_bytes) continue;
        all.take(trim_ows(attribute.substr(0, end)), value);
    }
    if (all.max_age) out.expires = all.max_age;
    return cookie_verdict::stored;
}

}  // namespace coracle::http::detail
