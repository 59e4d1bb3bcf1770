#pragma once

#include <coracle/runtime/backend.hpp>

namespace coracle::detail {

/// Removes the socket file that a Unix address names when nobody is bound to it any more: it would
/// make bind fail for ever. `type` is that of the socket to bind (SOCK_STREAM and so on). What is
/// no socket, or still answers, is left.
void remove_stale_socket_file(const endpoint& at, int type) noexcept;

}  // namespace coracle::detail
