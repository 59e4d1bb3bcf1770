#pragma once

#include <coracle/runtime/backend.hpp>
#include <coracle/runtime/owned_fd.hpp>

namespace coracle::detail {

/// The path of a Unix address while a socket is bound to it; nothing for other addresses. A socket
/// file to which no socket is bound any more is removed, since it would make every bind fail; files
/// that are not sockets, or still accept connections, are kept.
///
/// A socket that is bound and does not listen yet refuses connections, as the file of one that is
/// gone does. So its directory is locked (flock) until it listens, and of two processes that begin
/// at once the second finds a socket in use. Where another program keeps the directory locked, that
/// waits for a second at most.
class path_claim {
public:
    /// `type`: of the socket to bind (SOCK_STREAM and so on).
    path_claim(const endpoint& at, int type) noexcept;

private:
    owned_fd locked_directory_;  // closing it unlocks
};

}  // namespace coracle::detail
