#pragma once

#include <coracle/net/address.hpp>

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace coracle::net {

/// Reads an IP address as it stands alone: "192.0.2.1", "2001:db8::1", no brackets, zone or port.
std::optional<address> parse_ip(std::string_view text, std::uint16_t port = 0) noexcept;

/// A range of addresses (CIDR, RFC 4632 and RFC 4291 section 2.3), or every Unix socket. A small
/// value.
class network {
public:
    /// Reads "10.0.0.0/8", "2001:db8::/32", a single "192.0.2.1" or "::1", and "unix:". Bits after
    /// the prefix must be zero, so that a slip ("10.1.0.0/8") is noticed: invalid_argument. A
    /// network of mapped addresses comes `unmapped`.
    static std::expected<network, error> parse(std::string_view text);

    /// The network that an IPv4 or IPv6 address is in: its first `prefix` bits, at most all.
    static network around(const address& a, unsigned prefix) noexcept;

    /// Returns true if the address, its port apart, is in this network. An IPv4 address written as
    /// one of IPv6 ("::ffff:10.0.0.1", which a dual-stack socket gives) counts as IPv4.
    bool contains(const address& a) const noexcept;

    /// Returns "::ffff:10.0.0.0/104" as 10.0.0.0/8, by which `contains` finds its addresses; others
    /// as they are.
    network unmapped() const noexcept;

    net::family family() const noexcept { return base_.family(); }
    /// The number of leading bits that are compared.
    unsigned prefix() const noexcept { return prefix_; }
    /// Returns the network as text that `parse` reads.
    std::string to_string() const;

private:
    address base_;
    unsigned prefix_ = 0;
};

/// Returns true if one of `networks` contains the address.
bool is_in_any(std::span<const network> networks, const address& a) noexcept;

}  // namespace coracle::net
