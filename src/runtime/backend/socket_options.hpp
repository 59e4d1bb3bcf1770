#pragma once

#include <coracle/runtime/backend.hpp>

namespace coracle::detail {

/// Sets the options of both listening and connecting sockets. `family` is that of the address.
std::expected<void, error> set_common_options(int fd, int family, const socket_options& o) noexcept;

/// Sets the options of connecting sockets, after `set_common_options`. Binds the socket if `o` has
/// a local address.
std::expected<void, error> set_connecting_options(int fd, int family,
                                                  const socket_options& o) noexcept;

/// Sets the options of listening sockets, before bind.
std::expected<void, error> set_listening_options(int fd, int family,
                                                 const socket_options& o) noexcept;

/// Lets other listeners share the address of this one, which may listen already.
std::expected<void, error> share_port(int fd) noexcept;

}  // namespace coracle::detail
