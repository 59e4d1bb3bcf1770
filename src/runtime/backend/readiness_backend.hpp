#pragma once

#include "runtime/backend/system_backend.hpp"

#include <atomic>

namespace coracle::detail {

/// The base of backends that are notified when a descriptor is ready and then make the system call
/// of the operation that waits for it. `descriptor::flags` holds the known readiness of the
/// descriptor.
class readiness_backend : public system_backend {
public:
    time_point now() noexcept override {
        const time_point t = system_backend::now();
        asked_at_.store(t, std::memory_order_relaxed);
        return t;
    }
    bool has_input(descriptor& d) noexcept override;
    std::int64_t try_send(descriptor& d, slice bytes) noexcept override;
    void may_read_short(descriptor& d) noexcept override { d.flags |= reads_short; }

protected:
    enum flag : std::uint32_t {
        readable = 1,
        writable = 2,
        peer_closed = 4,
        broken = 8,
        reads_short = 16,  ///< see `may_read_short`
    };
    static constexpr unsigned flag_bits = 5;
    /// The flags of a descriptor that was closed: each operation makes its call, which fails with
    /// EBADF.
    static constexpr std::uint32_t when_closed = readable | writable;

    /// Makes the system call of `op` unless it is known that it would block. Returns false when
    /// `op` has to wait.
    bool attempt(io_operation& op) noexcept;
    bool attempt_receive(receive_operation& op) noexcept;
    bool attempt_receive_many(messages_operation& op) noexcept;
    /// Attempts an operation that was just submitted; starts a connect.
    bool begin(io_operation& op) noexcept;
    /// Returns true if another operation waits in the direction of `op`, which then fails with
    /// EBUSY: only one would ever be notified.
    static bool is_second(io_operation& op) noexcept;
    static bool is_input(opcode c) noexcept;
    /// The slot of the descriptor in which an operation of this direction waits.
    static io_operation*& place_of(io_operation& op) noexcept;
    /// For `cancel`: returns true if `op` was waiting; it then completes in the next turn.
    static bool withdraw(io_operation& op) noexcept;

    /// Returns true if the known state of `d` is one that `w` is to be notified of.
    static bool concerns(const descriptor& d, const hangup_watch& w) noexcept {
        const std::uint32_t told = w.ignores_end ? broken : peer_closed | broken;
        return (d.flags & told) != 0;
    }

    /// For backends that get events only for descriptors with a waiter: `op` was withdrawn, perhaps
    /// before the system was queried. The next operation queries the system itself; otherwise a
    /// task that begins and cancels a wait in each turn would never see an event.
    static void forget_unready(const io_operation& op) noexcept;
    /// Makes an operation on a foreign descriptor query the system when it begins, for the same
    /// reason; on all backends.
    bool asks_for_foreign_ = false;
    /// Queries the system now. Returns true if `op` need not wait; its result is set.
    static short poll_now(int fd, bool reads) noexcept;
    static bool foreign_is_ready(foreign_operation& op) noexcept;

    /// Returns the nanoseconds left until a time that is neither the first nor the last.
    std::int64_t left_until(time_point until) noexcept;

    void complete_input(descriptor& d) noexcept;
    void complete_output(descriptor& d) noexcept;
    /// Operations that paused so that others can run.
    bool has_unfinished() const noexcept { return !unfinished_.empty(); }
    void continue_unfinished() noexcept;
    /// The operation that sends on `d` would block, and waits for space now.
    virtual void waits_for_room(descriptor& d) noexcept = 0;

private:
    std::atomic<time_point> asked_at_{};  ///< when the time was last read

    std::int64_t sent_less(descriptor& d, slice bytes, std::int64_t result) noexcept;
    static bool take_readiness(io_operation& op, flag f) noexcept;
    bool knows(descriptor& d, flag f, std::int64_t result) const noexcept;

    intrusive_list<io_operation> unfinished_;
};

}  // namespace coracle::detail
