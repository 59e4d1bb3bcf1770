#pragma once

#include <coracle/net/socket.hpp>
#include <coracle/runtime/owned_fd.hpp>

namespace coracle::net {

class listener;

/// The awaitable returned by `listener::accept`.
class [[nodiscard]] accepting final
    : public coracle::detail::leaf<accepting, std::unique_ptr<socket>>,
      address_operation {
public:
    static constexpr const char* name = "accept";
    explicit accepting(listener& l) noexcept
        : address_operation(opcode::accept, &done), listener_(&l) {}
    bool start() noexcept;
    void cancel() noexcept override;
    std::expected<std::unique_ptr<socket>, error> result();

private:
    static void done(io_operation& op) noexcept;
    listener* listener_;
};

/// A listening TCP or Unix socket of one loop. Closed when destroyed; nothing may be pending then.
class listener {
public:
    /// Opens a listener at `at`. Port 0 lets the system choose; `local` returns the choice. A Unix
    /// socket file on which no socket listens is replaced.
    static std::expected<listener, error> open(loop& owner, const address& at,
                                               const socket_options& options = {});
    /// Shares the socket of `with` with another loop, for systems without SO_REUSEPORT: each
    /// connection goes to the loop that accepts it first.
    static std::expected<listener, error> share(loop& owner, const listener& with);
    /// Takes over a listening stream socket that another process opened (`inherited_socket`), or
    /// that `duplicate` gave, and sets the options that concern connections. Fails with
    /// `invalid_argument` for a descriptor that does not listen, and with `operation_not_supported`
    /// in a simulation; it is closed then.
    static std::expected<listener, error> adopt(loop& owner, owned_fd fd,
                                                const socket_options& options = {});
    listener(listener&&) noexcept;
    listener& operator=(listener&&) = delete;
    ~listener();

    /// Completes with the next connection, whose peer is known. Connections that died while they
    /// waited are passed over. Running out of descriptors or memory is an error of its own
    /// (EMFILE, ENFILE, ENOBUFS, ENOMEM); the listener stays usable. Cancelling it loses none.
    accepting accept() noexcept { return accepting(*this); }

    /// Accepts and closes one waiting connection although the process has no descriptor left, by
    /// giving up a spare one for a moment, so that peers learn of it instead of being left hanging.
    void refuse_one() noexcept;

    /// Accepts a connection that waits already, while no `accept` is pending; null when none does.
    /// Fails as `accept` does.
    std::expected<std::unique_ptr<socket>, error> try_accept();
    /// Lets no further connection come to this socket, so that none is reset when it is closed:
    /// those whose handshake is under way may still be accepted; a peer that comes later is refused
    /// by a Unix socket, and by TCP when it tries again after `close`. Not for a socket that
    /// another process has too.
    void refuse_new() noexcept;
    /// Returns another number for the socket, for another process or loop. While it is open
    /// connections wait there, even after `close`. Any thread, while the listener is open.
    std::expected<owned_fd, error> duplicate() const;

    const address& local() const noexcept { return local_; }
    loop& owner() const noexcept { return *owner_; }
    void close() noexcept;

private:
    friend class accepting;
    listener(loop& owner, const address& at) : owner_(&owner), local_(at) {}
    static std::expected<listener, error> attach(loop& owner, int fd, const endpoint& at);

    loop* owner_;
    std::unique_ptr<descriptor> descriptor_;
    int spare_ = -1;
    address local_;
};

}  // namespace coracle::net
