#pragma once

#include "net/resolver/name_server.hpp"

#include <coracle/runtime/backend.hpp>

namespace coracle::net::detail {

/// A socket of c-ares, watched by the loop. Owns itself: c-ares closes its sockets at any time, but
/// the number must stay taken until the loop no longer watches it. Keeps the loop until then.
class name_server::watched_socket {
public:
    /// Returns null, with errno set, on failure.
    static watched_socket* open(loop& owner, name_server& server, int family, int type,
                                int protocol) noexcept;

    int number() const noexcept { return fd_; }
    void want(bool readable, bool writable) noexcept;
    void close() noexcept;

private:
    struct direction : foreign_operation {
        direction(opcode c, watched_socket& s, int number) noexcept
            : foreign_operation(c, &done), self(&s) {
            fd = number;
        }
        watched_socket* self;
        bool wanted = false;
        bool waits = false;
    };

    watched_socket(loop& owner, name_server& server, int fd) noexcept;
    ~watched_socket();

    static void done(io_operation& op) noexcept;
    void watch(direction& d) noexcept;
    void stop(direction& d) noexcept;
    void release_if_over() noexcept;

    loop* owner_;
    name_server* server_;  ///< null when it is closed
    int fd_;
    direction input_;
    direction output_;
    bool working_ = false;  ///< c-ares is processing it
};

}  // namespace coracle::net::detail
