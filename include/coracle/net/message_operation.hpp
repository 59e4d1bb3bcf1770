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
    /// The same for a descriptor of the system, which a simulated backend refuses.
    static std::expected<std::unique_ptr<message_end>, error> adopt(loop& l, owned_fd fd);
    void close() noexcept {
        if (on.open()) owner->backend().close(on);
    }
    /// What the negated errno of an operation means, whose other side is `with`.
    error failure(std::int64_t result, const char* name, phase where, const endpoint& with,
                  std::size_t size) const;
    std::expected<void, error> connect(const address& to);
};

/// What moves messages, as something to await.
template <class Derived, class T>
class message_leaf : public coracle::detail::leaf<Derived, T>, protected messages_operation {
public:
    message_leaf(message_leaf&&) noexcept = default;

    void cancel() noexcept override {
        // One that was refused was never submitted, and completes in its turn.
        if (on != nullptr) this->owner().backend().cancel(*this);
    }

protected:
    message_leaf(message_end& e, opcode c) noexcept : messages_operation(c, &done), end_(&e) {}
    ~message_leaf() = default;

    bool begin(std::span<message_slot> all) noexcept {
        on = &end_->on;
        slots = all;
        next = offset = sent = 0;
        if (!this->owner().backend().submit(*this)) return false;
        return completes_now();
    }
    /// What `start` gives for an operation that is done: it resumes its task at once, or in the
    /// next turn when that has had its share of this one.
    bool completes_now() noexcept {
        if (this->owner().may_complete_inline()) return true;
        this->owner().complete_later(*this);
        return false;
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
