#pragma once

#include <coracle/net/address.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::net::detail {

/// RFC 1035 section 2.3.4, written out: 255 octets on the wire.
inline constexpr std::size_t longest_name = 253;

/// Returns the address if `host` is numeric, with or without brackets and zone.
std::optional<address> numeric_address(std::string_view host);

/// Returns `host` in lower case and without a trailing dot, which sets `absolute`; nothing if it is
/// not a valid host name.
std::optional<std::string> canonical_name(std::string_view host, bool& absolute);

/// RFC 6761 section 6.3.
bool is_localhost(std::string_view name) noexcept;
/// Names that exist nowhere in the DNS: RFC 6761 section 6.4, RFC 7686.
bool is_never_asked(std::string_view name) noexcept;

/// Returns the names to query, in order: `name` in the domains of `search`, and `name` itself,
/// first if it has at least `dots` dots.
std::vector<std::string> candidates(const std::string& name, bool absolute,
                                    const std::vector<std::string>& search, std::size_t domains,
                                    unsigned dots);

}  // namespace coracle::net::detail
