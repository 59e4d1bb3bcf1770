#pragma once

#include <string_view>

// Matching of cookies with hosts and paths (RFC 6265bis section 5.1).
namespace coracle::http::detail {

/// Returns true if a host, in lower case, is an IP address, which has no subdomains.
bool is_ip_host(std::string_view host) noexcept;

/// Returns true if a Domain attribute, in lower case and without a leading dot, is a valid host
/// name.
bool is_cookie_domain(std::string_view domain) noexcept;

/// Returns true if the host is the domain or below it (section 5.1.3).
bool domain_matches(std::string_view host, std::string_view domain) noexcept;

/// Returns the path of a cookie without a Path attribute: that of the request up to its last slash
/// (section 5.1.4).
std::string_view default_path(std::string_view request_path) noexcept;

/// Returns true if the path of the request is that of the cookie or below it (section 5.1.4).
bool path_matches(std::string_view request_path, std::string_view cookie_path) noexcept;

}  // namespace coracle::http::detail
