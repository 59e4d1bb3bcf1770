#pragma once

#include <coracle/net/address.hpp>
#include <coracle/runtime/datagram_operation.hpp>
#include <coracle/runtime/operation.hpp>

#include <memory>

namespace coracle::net::detail {

/// A socket that moves messages, where its operations find it: it does not move.
struct message_end {
    loop* owner = nullptr;
    descriptor on;
    address local;
    address peer;  ///< of a connected socket

    explicit message_end(loop& l) noexcept : owner(&l) {}
    message_end(const message_end&) = delete;
    message_end& operator=(const message_end&) = delete;
    ~message_end() { close(); }

    /// Takes over the number `fd`, which the backend gave; on failure it is closed.
    static std::expected<std::unique_ptr<message_end>, error> adopt(loop& l, int fd);
    /// Takes over a descriptor of the system, which a simulated backend refuses.
    static std::expected<std::unique_ptr<message_end>, error> adopt(loop& l, owned_fd fd);
    void close() noexcept {
        if (on.open()) owner->backend().close(on);
    }
    /// Makes an error from the negated errno of an operation whose other side is `with`.
    error failure(std::int64_t result, const char* name, phase where, const endpoint& with,
                  std::size_t size) const;
    std::expected<void, error> connect(const address& to);
};

/// The base of awaitables that move messages.
template <class Derived, class T>
class message_leaf : public coracle::detail::leaf<Derived, T>, protected messages_operation {
public:
    message_leaf(message_leaf&&) noexcept = default;

    void cancel() noexcept override {
        if (!this->withdrawn_before_start()) this->owner().backend().cancel(*this);
    }

protected:
    message_leaf(message_end& e, opcode c) noexcept : messages_operation(c, &done), end_(&e) {}
    ~message_leaf() = default;

    bool begin(std::span<message_slot> all) noexcept {
        if (!this->may_begin()) return false;
        on = &end_->on;
        slots = all;
        next = offset = sent = 0;
        return this->owner().backend().submit(*this);
    }

    message_end* end_;

private:
    static void done(io_operation& op) noexcept {
        auto& self = static_cast<message_leaf&>(static_cast<messages_operation&>(op));
        if (op.result == -ECANCELED) self.mark_cancelled();
        self.complete();
    }
};

}  // namespace coracle::net::detail
