#pragma once

#include <coracle/net/address.hpp>
#include <coracle/runtime/owned_fd.hpp>

#include <expected>
#include <string>
#include <vector>

namespace coracle::net {

/// A listening socket that another process opened: the service manager, or the process that this
/// one takes the place of. Move-only.
struct inherited_socket {
    owned_fd descriptor;
    std::string name;  ///< FileDescriptorName= of the socket unit, or that of the other process
    address local;     ///< `family::none` for what is neither TCP, UDP nor a Unix socket
};

/// Takes the sockets that the service manager has passed to this process, in the order of the unit
/// (LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES, sd_listen_fds(3)), sets them to be closed on exec,
/// and removes the variables from the environment, so that no child takes them for its own. Empty
/// where there are none, or where they are those of another process. Give those
/// that listen to `listener::adopt`. Fails with `invalid_argument` when the variables
/// cannot be read, and with EBADF when a descriptor is not open; then none is taken. Changes the
/// environment: call it before there are other threads.
std::expected<std::vector<inherited_socket>, error> take_inherited_sockets();

}  // namespace coracle::net
