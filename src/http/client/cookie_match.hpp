#pragma once

#include <string_view>

// Where a cookie belongs (RFC 6265bis section 5.1).
namespace coracle::http::detail {

/// Whether a host, in lower case, is an address and no name: nothing is below it.
bool is_ip_host(std::string_view host) noexcept;

/// Whether a Domain attribute, in lower case and without a leading dot, could be that of a host.
bool is_cookie_domain(std::string_view domain) noexcept;

/// Section 5.1.3: the host is the domain or below it.
bool domain_matches(std::string_view host, std::string_view domain) noexcept;

/// Section 5.1.4, of the path of a cookie that has none itself: that of the request up to its last
/// slash.
std::string_view default_path(std::string_view request_path) noexcept;

/// Section 5.1.4: the path of the request is that of the cookie or below it.
bool path_matches(std::string_view request_path, std::string_view cookie_path) noexcept;

}  // namespace coracle::http::detail
