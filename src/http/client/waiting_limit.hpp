#pragma once

#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/timer.hpp>

namespace coracle::http::detail {

/// The timeout of a part of a call: interrupts the wait of a task without cancelling the task.
class waiting_limit final : public deadline {
public:
    explicit waiting_limit(loop& owner) noexcept : deadline(owner), owner_(&owner) {}

    /// Limits the waits of the task of `context` to `limit`, and to `latest`; a limit of zero is
    /// none.
    void begin(coracle::detail::context& context, duration limit, time_point latest) noexcept {
        context_ = &context;
        passed_ = false;
        time_point due = latest;
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
        context_->interrupt();
        // A wait that had completed already cannot be interrupted: interrupts the next one.
        arm(coracle::detail::later(owner_->now(), again));
    }

    loop* owner_;
    coracle::detail::context* context_ = nullptr;
    bool passed_ = false;
};

}  // namespace coracle::http::detail
