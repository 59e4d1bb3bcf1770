#pragma once

#include <coracle/runtime/backend.hpp>

namespace coracle::detail {

/// Removes the socket file of a Unix address if no socket is bound to it any more, since it would
/// make every bind fail. `type` is that of the socket to bind (SOCK_STREAM and so on). Keeps files
/// that are not sockets, or still accept connections.
void remove_stale_socket_file(const endpoint& at, int type) noexcept;

}  // namespace coracle::detail
