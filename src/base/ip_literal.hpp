#pragma once

#include <string>
#include <string_view>

namespace coracle::detail {

/// Four decimal numbers without leading zeros (RFC 3986 section 3.2.2, IPv4address).
bool is_ipv4(std::string_view text) noexcept;

/// Appends an IPv6 address (RFC 4291 section 2.2), without brackets, in the one form of RFC 5952.
/// False, with nothing appended, for anything else; zones are something else.
bool append_ipv6(std::string& out, std::string_view text);

}  // namespace coracle::detail
