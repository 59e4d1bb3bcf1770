#pragma once

#include <coracle/net/address.hpp>

#include <cstddef>

namespace coracle::net::detail {

/// The most bytes of `address::host()`: "unix:" and a path.
inline constexpr std::size_t longest_host = 128;

/// Writes `a.host()` to memory for `longest_host` bytes, and returns its size. Allocates nothing
/// for addresses of the internet but those of IPv6 that have a scope.
std::size_t write_host(const address& a, char* to);

}  // namespace coracle::net::detail
