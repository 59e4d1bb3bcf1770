#pragma once

#include "runtime/backend/system_backend.hpp"

#include <atomic>

namespace coracle::detail {

/// What those backends share that hear when a descriptor is ready and then make the system call of
/// the operation that waits for it. `descriptor::flags` says what is known of the descriptor.
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

    /// Makes the system call of `op` unless it is known to be in vain; false when `op` has to wait.
    bool attempt(io_operation& op) noexcept;
    bool attempt_receive(receive_operation& op) noexcept;
    bool attempt_receive_many(messages_operation& op) noexcept;
    /// The same for an operation that has just come; a connect is begun.
    bool begin(io_operation& op) noexcept;
    /// Where an operation waits.
    static io_operation*& place_of(io_operation& op) noexcept;
    /// For `cancel`: true when `op` was waiting; it then completes in the next turn.
    static bool withdraw(io_operation& op) noexcept;

    /// How long to wait, in nanoseconds, for a time that is neither the first nor the last.
    std::int64_t left_until(time_point until) noexcept;

    void complete_input(descriptor& d) noexcept;
    void complete_output(descriptor& d) noexcept;
    /// Operations that stopped of their own accord, so that others get their turn.
    bool has_unfinished() const noexcept { return !unfinished_.empty(); }
    void continue_unfinished() noexcept;
    /// The operation that sends on `d` went on in vain, and waits for room now.
    virtual void waits_for_room(descriptor& d) noexcept = 0;

private:
    std::atomic<time_point> asked_at_{};  ///< when somebody last asked the time

    std::int64_t sent_less(descriptor& d, slice bytes, std::int64_t result) noexcept;
    static bool take_readiness(io_operation& op, flag f) noexcept;
    bool knows(descriptor& d, flag f, std::int64_t result) const noexcept;

    intrusive_list<io_operation> unfinished_;
};

}  // namespace coracle::detail
