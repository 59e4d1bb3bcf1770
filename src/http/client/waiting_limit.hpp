#pragma once

#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/timer.hpp>

namespace coracle::http::detail {

/// The time that a part of a call may take: ends the wait of the task that it was armed for,
/// without ending the task.
class waiting_limit final : public deadline {
public:
    explicit waiting_limit(loop& owner) noexcept : deadline(owner), owner_(&owner) {}

    /// For the waits of `who` until `limit` has passed, and no longer than until `whole`; a limit
    /// of zero is none.
    void begin(coracle::detail::context& who, duration limit, time_point whole) noexcept {
        who_ = &who;
        passed_ = false;
        time_point due = whole;
        if (limit > duration::zero()) {
            const time_point part = coracle::detail::later(owner_->now(), limit);
            if (part < due) due = part;
        }
        if (due != time_point::max()) {
            arm(due);
        } else {
            disarm();
        }
    }
    void end() noexcept { disarm(); }
    bool passed() const noexcept { return passed_; }

private:
    static constexpr duration again = std::chrono::milliseconds(50);

    void expired() noexcept override {
        passed_ = true;
        who_->interrupt();
        // A wait that was over already cannot be ended: the next one is.
        arm(coracle::detail::later(owner_->now(), again));
    }

    loop* owner_;
    coracle::detail::context* who_ = nullptr;
    bool passed_ = false;
};

}  // namespace coracle::http::detail
