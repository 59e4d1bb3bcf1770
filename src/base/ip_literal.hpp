#pragma once

#include <string>
#include <string_view>

namespace coracle::detail {

/// Reads four decimal numbers without leading zeros (RFC 3986 section 3.2.2, IPv4address).
bool is_ipv4(std::string_view text) noexcept;

/// Appends an IPv6 address (RFC 4291 section 2.2), without brackets, in the form of RFC 5952.
/// Returns false, and appends nothing, for other texts, also with a zone.
bool append_ipv6(std::string& out, std::string_view text);

}  // namespace coracle::detail
