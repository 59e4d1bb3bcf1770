#pragma once

#include "http/message/token.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

// The rules that both sides of Set-Cookie keep.
namespace coracle::http::detail {

// RFC 6265bis sections 5.6 and 5.7: what is longer is ignored by clients.
inline constexpr std::size_t most_cookie_bytes = 4096;
inline constexpr std::size_t most_cookie_attribute_bytes = 1024;
/// Section 5.5: the longest that a cookie is kept.
inline constexpr std::int64_t most_cookie_seconds = 400 * 86400;

/// The demands on a cookie because of the prefix of its name.
struct cookie_demands {
    bool secure = false;     ///< Secure
    bool host = false;       ///< Path=/ and no Domain
    bool http_only = false;  ///< HttpOnly
};

inline bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) noexcept {
    return text.size() >= prefix.size() &&
           equal_ignoring_case(text.substr(0, prefix.size()), prefix);
}

/// The prefixes compare without case (section 5.4).
inline cookie_demands demands_of(std::string_view name) noexcept {
    cookie_demands d;
    if (!name.starts_with("__")) return d;
    const bool host_http = starts_with_ignoring_case(name, "__Host-Http-");
    d.host = host_http || starts_with_ignoring_case(name, "__Host-");
    d.http_only = host_http || starts_with_ignoring_case(name, "__Http-");
    d.secure = d.host || d.http_only || starts_with_ignoring_case(name, "__Secure-");
    return d;
}

}  // namespace coracle::http::detail
