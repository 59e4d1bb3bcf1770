#pragma once

#include <coracle/net/byte_stream.hpp>

namespace coracle::net {

/// A TCP or Unix stream socket. Closed when destroyed.
class socket final : public byte_stream {
public:
    /// Takes over the descriptor number `fd`; on failure it is closed.
    static std::expected<std::unique_ptr<socket>, error> adopt(loop& owner, int fd,
                                                               const address& peer);
    ~socket() override { close(); }

    void shutdown_output() noexcept override { owner_->backend().shutdown_output(descriptor_); }
    void close(bool reset = false) noexcept override;
    std::int64_t try_send(std::string_view bytes) noexcept override {
        return owner_->backend().try_send(descriptor_, bytes);
    }
    bool has_input() noexcept override { return owner_->backend().has_input(descriptor_); }
    bool prefer_input(std::size_t bytes) noexcept override {
        return owner_->backend().prefer_input(descriptor_, bytes);
    }
    bool watch_hangup(hangup_watch* w) noexcept override {
        return owner_->backend().watch_hangup(descriptor_, w);
    }
    bool can_splice() const noexcept override { return owner_->backend().is_of_the_system(); }
    const address& peer() const noexcept override { return peer_; }
    /// Our own end, as the system knows it.
    std::expected<address, error> local() const {
        auto e = owner_->backend().local_endpoint(descriptor_.fd);
        if (!e) return std::unexpected(std::move(e).error());
        return address::from(*e);
    }
    loop& owner() const noexcept override { return *owner_; }
    /// The number of its descriptor, to ask the system about it; -1 when it is closed. It stays the
    /// socket's, and must not be duplicated or passed on. Of a simulated one the system knows
    /// nothing.
    int number() const noexcept { return descriptor_.fd; }
    bool start(io_operation& op) noexcept override {
        op.on = &descriptor_;
        return owner_->backend().submit(op);
    }
    void cancel(io_operation& op) noexcept override {
        // One that was sent at once was never submitted, and completes in its turn.
        if (op.on != nullptr) owner_->backend().cancel(op);
    }

private:
    socket(loop& owner, const address& peer) noexcept : owner_(&owner), peer_(peer) {}

    loop* owner_;
    descriptor descriptor_;
    address peer_;
};

/// Connects to an address; names and several addresses are the business of the connect layer.
/// Cancelling it closes the socket.
operation<std::unique_ptr<socket>> connect(const address& to, const socket_options& options = {});

}  // namespace coracle::net
