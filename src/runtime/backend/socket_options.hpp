#pragma once

#include <coracle/runtime/backend.hpp>

namespace coracle::detail {

/// Sets what is the same for listening and connecting sockets. `family` is that of the address.
std::expected<void, error> set_common_options(int fd, int family, const socket_options& o) noexcept;

/// What a connecting socket needs besides, after `set_common_options`. Binds it where asked.
std::expected<void, error> set_connecting_options(int fd, int family,
                                                  const socket_options& o) noexcept;

/// What a listening socket needs besides, before bind.
std::expected<void, error> set_listening_options(int fd, int family,
                                                 const socket_options& o) noexcept;

}  // namespace coracle::detail
