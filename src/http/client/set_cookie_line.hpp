#pragma once

#include <coracle/http/cookie_jar.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::http::detail {

/// The parsed value of a Set-Cookie field, not yet checked against its origin.
struct set_cookie_line {
    std::string_view name;
    std::string_view value;
    std::string domain;     ///< lower case, without a leading dot; empty: none
    std::string_view path;  ///< empty: absent, or without a leading slash
    std::optional<std::int64_t> expires;
    bool secure = false;
    bool http_only = false;
    http::same_site same_site = http::same_site::unset;
};

/// Checks name and value of a cookie (RFC 6265bis sections 5.6 and 5.7): returns `stored`,
/// `malformed`, `too_large` or, for a value without a name that looks like a prefixed name,
/// `prefix`.
cookie_verdict check_pair(std::string_view name, std::string_view value) noexcept;

/// Parses a line as clients must (section 5.6); the views refer to it. Max-Age counts from `now`.
/// Returns `stored`, or the verdict of `check_pair`.
cookie_verdict read_set_cookie(std::string_view line, std::int64_t now, set_cookie_line& out);

}  // namespace coracle::http::detail
