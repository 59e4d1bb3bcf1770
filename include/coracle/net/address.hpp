#pragma once

#include <coracle/base/error.hpp>
#include <coracle/runtime/backend.hpp>

#include <array>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace coracle::net {

enum class family : std::uint8_t { none, v4, v6, unix_path };

/// The address of a socket: an IPv4 or IPv6 address with a port, or the path of a Unix socket. A
/// small value; copying it allocates nothing.
class address {
public:
    address() noexcept = default;

    /// Reads "127.0.0.1:80", "[::1]:80", "[fe80::1%2]:80", ":80" (every IPv4 address), "80" (the
    /// same), "localhost:80" (127.0.0.1) and "unix:/path" ("unix:@name": abstract), whose path has
    /// 107 bytes at most (filename_too_long). Names are for a resolver.
    static std::expected<address, error> parse(std::string_view text);
    static address v4(std::array<std::uint8_t, 4> bytes, std::uint16_t port) noexcept;
    static address v6(std::array<std::uint8_t, 16> bytes, std::uint16_t port,
                      std::uint32_t scope = 0) noexcept;
    static address from(const endpoint& e);

    endpoint to_endpoint() const noexcept;

    net::family family() const noexcept { return family_; }
    /// 0 for a Unix socket.
    std::uint16_t port() const noexcept { return port_; }
    void set_port(std::uint16_t port) noexcept { port_ = port; }
    /// The 4 or 16 bytes of the address as they stand in packets; none for a Unix socket.
    std::span<const std::uint8_t> bytes() const noexcept {
        if (family_ == net::family::v4) return {bytes_.data(), 4};
        return {bytes_.data(), family_ == net::family::v6 ? 16u : 0u};
    }
    bool is_loopback() const noexcept;
    /// Returns true for an IPv4 address as a socket for both families gives it, "::ffff:192.0.2.1"
    /// (RFC 4291 section 2.5.5.2).
    bool is_mapped() const noexcept;
    /// The address without the port, as in a log: "127.0.0.1", "::1", "unix:/path".
    std::string host() const;
    /// Returns the address as text that `parse` reads.
    std::string to_string() const;

    friend bool operator==(const address& a, const address& b) noexcept;

private:
    std::shared_ptr<const std::string> path_;
    std::array<std::uint8_t, 16> bytes_{};
    std::uint32_t scope_ = 0;
    std::uint16_t port_ = 0;
    net::family family_ = net::family::none;
};

// The shared library exports what is declared here, not in the class alone.
bool operator==(const address& a, const address& b) noexcept;

}  // namespace coracle::net
