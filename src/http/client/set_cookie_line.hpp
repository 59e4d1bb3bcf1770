#pragma once

#include <coracle/http/cookie_jar.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::http::detail {

/// What a Set-Cookie field says, before it is held against where it came from.
struct set_cookie_line {
    std::string_view name;
    std::string_view value;
    std::string domain;     ///< lower case, without a leading dot; empty: none
    std::string_view path;  ///< empty: none that begins with a slash
    std::optional<std::int64_t> expires;
    bool secure = false;
    bool http_only = false;
    http::same_site same_site = http::same_site::unset;
};

/// Whether a cookie can be kept at all (RFC 6265bis sections 5.6 and 5.7): `stored`, `malformed`,
/// `too_large` or, for a value without a name that looks like one with a prefix, `prefix`.
cookie_verdict check_pair(std::string_view name, std::string_view value) noexcept;

/// Reads a line as clients have to (section 5.6); the views are parts of it. `now` is what Max-Age
/// counts from. Gives `stored`, or what `check_pair` has against it.
cookie_verdict read_set_cookie(std::string_view line, std::int64_t now, set_cookie_line& out);

}  // namespace coracle::http::detail
