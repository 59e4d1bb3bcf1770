#pragma once

#include <coracle/net/socket.hpp>

namespace coracle::net {

class listener;

/// What `listener::accept` gives.
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
    /// Port 0 lets the system choose; `local` tells which. An existing Unix socket that nobody
    /// listens on is replaced.
    static std::expected<listener, error> open(loop& owner, const address& at,
                                               const socket_options& options = {});
    /// The same socket for another loop, where SO_REUSEPORT is not to be had: each connection goes
    /// to whichever loop accepts it first.
    static std::expected<listener, error> share(loop& owner, const listener& with);
    listener(listener&&) noexcept;
    listener& operator=(listener&&) = delete;
    ~listener();

    /// Completes with the next connection, whose peer is known. Connections that died while they
    /// waited are passed over. Running out of descriptors or memory is an error of its own
    /// (EMFILE, ENFILE, ENOBUFS, ENOMEM); the listener stays usable. Cancelling it loses none.
    accepting accept() noexcept { return accepting(*this); }

    /// Accepts and closes one waiting connection although the process has no descriptor left, by
    /// giving up a spare one for a moment, so that peers are told instead of left hanging.
    void refuse_one() noexcept;

    const address& local() const noexcept { return local_; }
    loop& owner() const noexcept { return *owner_; }
    void close() noexcept;

private:
    friend class accepting;
    listener(loop& owner, const address& at) : owner_(&owner), local_(at) {}
    static std::expected<listener, error> adopt(loop& owner, int fd, const address& at);

    loop* owner_;
    std::unique_ptr<descriptor> descriptor_;
    int spare_ = -1;
    address local_;
};

}  // namespace coracle::net
