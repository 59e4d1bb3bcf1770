#pragma once

#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/timer.hpp>

#include <cstdint>
#include <utility>

namespace coracle::http::detail {

/// A number that grows as something gets on, read while it is waited for.
struct progress_counter {
    std::uint64_t (*read)(const void* of) noexcept = nullptr;  ///< null: there is none
    const void* of = nullptr;
};

/// The timeout of a part of a call: interrupts the wait of a task without cancelling the task.
class waiting_limit final : public deadline {
public:
    explicit waiting_limit(loop& owner) noexcept : deadline(owner), owner_(&owner) {}

    /// Limits the waits of the task of `context` to `limit`, and to `latest`; a limit of zero is
    /// none.
    void begin(coracle::detail::context& context, duration limit, time_point latest) noexcept {
        context_ = &context;
        passed_ = false;
        counter_.read = nullptr;
        arm_limit(limit, latest);
    }
    /// Does the same, but `limit` is for the time in which the counter stands still: it is looked
    /// at each time the limit has passed.
    void begin(coracle::detail::context& context, duration limit, time_point latest,
               progress_counter counter) noexcept {
        begin(context, limit, latest);
        limit_ = limit;
        latest_ = latest;
        counter_ = counter;
        counted_ = counter.read(counter.of);
    }
    void end() noexcept { disarm(); }
    bool passed() const noexcept { return passed_; }

private:
    static constexpr duration again = std::chrono::milliseconds(50);

    void arm_limit(duration limit, time_point latest) noexcept {
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

    bool gets_on() noexcept {
        if (passed_ || counter_.read == nullptr || owner_->now() >= latest_) return false;
        const std::uint64_t now = counter_.read(counter_.of);
        return std::exchange(counted_, now) != now;
    }

    void expired() noexcept override {
        if (gets_on()) return arm_limit(limit_, latest_);
        passed_ = true;
        context_->interrupt();
        // A wait that had completed already cannot be interrupted: interrupts the next one.
        arm(coracle::detail::later(owner_->now(), again));
    }

    loop* owner_;
    coracle::detail::context* context_ = nullptr;
    duration limit_{};     ///< with a counter, as is
    time_point latest_{};  ///< this
    progress_counter counter_;
    std::uint64_t counted_ = 0;
    bool passed_ = false;
};

}  // namespace coracle::http::detail
