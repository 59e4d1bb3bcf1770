#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::connect {

/// The longest host name that is sent to a proxy: the limit of SOCKS5.
constexpr std::size_t most_name_bytes = 255;

struct host_port {
    std::string_view host;  ///< without brackets
    std::uint16_t port = 0;
};

/// Reads "host", "host:port", "[v6]", "[v6]:port" and an IPv6 address alone. The port is from 1 to
/// 65535, or `usual` if there is none. Returns nothing for other texts.
std::optional<host_port> split_host_port(std::string_view text, std::uint16_t usual) noexcept;

/// Reads a port, from 1 to 65535.
std::optional<std::uint16_t> read_port(std::string_view digits) noexcept;

/// Returns true if `host` may be sent to a proxy: not empty, no spaces, no controls, none of the
/// bytes that separate the parts of a URL.
bool is_sendable(std::string_view host) noexcept;

/// "host:80", "[::1]:80".
std::string host_and_port(std::string_view host, std::uint16_t port);

/// Returns the host without brackets and a trailing dot.
std::string_view plain_host(std::string_view host) noexcept;

/// Returns true if two names are equal without case.
bool same_name(std::string_view a, std::string_view b) noexcept;

}  // namespace coracle::connect
