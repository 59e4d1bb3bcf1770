#include "http/message/char_table.hpp"
#include "http/message/cookie_rules.hpp"
#include "http/message/date.hpp"
#include "http/message/token.hpp"

#include <coracle/base/error.hpp>
#include <coracle/http/cookie.hpp>

namespace coracle::http {
namespace {

[[noreturn]] void refuse(std::string_view part) {
    throw_exception(error(std::errc::invalid_argument, "set_cookie").on(part));
}

/// cookie-octet (RFC 6265 section 4.1.1).
bool is_cookie_octet(char byte) noexcept {
    return byte > 0x20 && byte < 0x7f && byte != '"' && byte != ',' && byte != ';' && byte != '\\';
}

bool is_cookie_value(std::string_view text) noexcept {
    for (const char byte : text) {
        if (!is_cookie_octet(byte)) return false;
    }
    return true;
}

/// The value of an attribute: visible ASCII and spaces, without ";".
bool is_attribute(std::string_view text) noexcept {
    for (const char byte : text) {
        if (byte < 0x20 || byte >= 0x7f || byte == ';') return false;
    }
    return text.size() <= detail::most_cookie_attribute_bytes && trim_ows(text) == text;
}

bool is_domain(std::string_view text) noexcept {
    bool label_begins = true;
    for (const char byte : text) {
        const bool dot = byte == '.';
        if (dot ? label_begins : !is_char(byte, char_alpha | char_digit) && byte != '-') {
            return false;
        }
        label_begins = dot;
    }
    return !label_begins && text.size() <= 253;
}

std::string_view unquoted(std::string_view value) noexcept {
    const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
    return quoted ? value.substr(1, value.size() - 2) : value;
}

}  // namespace

bool next_cookie(std::string_view& rest, cookie_pair& out) noexcept {
    while (!rest.empty()) {
        const std::size_t end = rest.find(';');
        const std::string_view pair = rest.substr(0, end);
        rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
        const std::size_t equals = pair.find('=');
        if (equals == std::string_view::npos) continue;
        const std::string_view name = trim_ows(pair.substr(0, equals));
        const std::string_view value = trim_ows(pair.substr(equals + 1));
        if (name.empty() || !is_field_value(name) || !is_field_value(value)) continue;
        out = {name, unquoted(value)};
        return true;
    }
    return false;
}

set_cookie::set_cookie(std::string_view name, std::string_view value) : name_(name), value_(value) {
    if (!is_token(name)) refuse("name");
    if (!is_cookie_value(value) || name.size() + value.size() > detail::most_cookie_bytes)
        refuse("value");
}

set_cookie set_cookie::removal(std::string_view name) {
    set_cookie c(name, "");
    c.max_age(std::chrono::seconds(0)).expires(0);
    // Such a name is accepted with these alone.
    const detail::cookie_demands demands = detail::demands_of(name);
    if (demands.host) c.path("/");
    if (demands.secure) c.secure().http_only();
    return c;
}

set_cookie& set_cookie::path(std::string_view path) {
    if (!path.starts_with('/') || !is_attribute(path)) refuse("Path");
    path_ = path;
    return *this;
}

set_cookie& set_cookie::domain(std::string_view domain) {
    if (domain.starts_with('.')) domain.remove_prefix(1);
    if (!is_domain(domain)) refuse("Domain");
    domain_ = domain;
    return *this;
}

set_cookie& set_cookie::expires(std::int64_t unix_seconds) {
    expires_ = unix_seconds;
    return *this;
}

set_cookie& set_cookie::max_age(std::chrono::seconds age) {
    max_age_ = age.count();
    return *this;
}

set_cookie& set_cookie::secure(bool on) noexcept {
    secure_ = on;
    return *this;
}

set_cookie& set_cookie::http_only(bool on) noexcept {
    http_only_ = on;
    return *this;
}

set_cookie& set_cookie::same_site(http::same_site policy) noexcept {
    same_site_ = policy;
    return *this;
}

set_cookie& set_cookie::partitioned(bool on) noexcept {
    partitioned_ = on;
    return *this;
}

std::string set_cookie::text() const {
    const detail::cookie_demands demands = detail::demands_of(name_);
    const bool needs_secure = demands.secure || partitioned_ || same_site_ == http::same_site::none;
    if (needs_secure && !secure_) refuse("Secure");
    if (demands.host && path_ != "/") refuse("Path");
    if (demands.host && !domain_.empty()) refuse("Domain");
    if (demands.http_only && !http_only_) refuse("HttpOnly");

    std::string out = name_ + '=' + value_;
    if (!path_.empty()) out += "; Path=" + path_;
    if (!domain_.empty()) out += "; Domain=" + domain_;
    if (expires_) {
        char date[http_date_size];
        format_http_date(date, *expires_);
        out.append("; Expires=").append(date, sizeof date);
    }
    if (max_age_) out += "; Max-Age=" + std::to_string(*max_age_ < 0 ? 0 : *max_age_);
    if (secure_) out += "; Secure";
    if (http_only_) out += "; HttpOnly";
    switch (same_site_) {
        case http::same_site::unset: break;
        case http::same_site::strict: out += "; SameSite=Strict"; break;
        case http::same_site::lax: out += "; SameSite=Lax"; break;
        case http::same_site::none: out += "; SameSite=None"; break;
    }
    if (partitioned_) out += "; Partitioned";
    return out;
}

}  // namespace coracle::http
