#pragma once

#include "http/client/client_exchange.hpp"

#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/timer.hpp>

#include <cstdint>

namespace coracle::http::detail {

/// Interrupts a send that is too slow: too few bytes were sent during some time. Counts only the
/// time of waiting for the system, because the function that produces the body may be slow.
class send_speed final : public deadline {
public:
    /// Fewer than `least` bytes a second, during `time`, are too slow.
    send_speed(loop& owner, std::uint64_t least, duration time) noexcept
        : deadline(owner), owner_(&owner), least_(least), time_(time) {}

    /// The task of `context` waits for `exchange` to send, until `end`.
    void begin(coracle::detail::context& context, const client_exchange& exchange) noexcept {
        context_ = &context;
        exchange_ = &exchange;
        counted_ = exchange.sent();
        too_slow_ = false;
        since_ = owner_->now();
        arm(coracle::detail::later(since_, time_ - waited_));
    }
    void end() noexcept {
        disarm();
        bytes_ += exchange_->sent() - counted_;
        waited_ += owner_->now() - since_;
    }
    bool too_slow() const noexcept { return too_slow_; }

private:
    static constexpr duration again = std::chrono::milliseconds(50);

    void expired() noexcept override {
        const double bytes = static_cast<double>(bytes_ + exchange_->sent() - counted_);
        const double seconds = std::chrono::duration<double>(time_).count();
        if (too_slow_ || bytes < static_cast<double>(least_) * seconds) {
            too_slow_ = true;
            context_->interrupt();
            // A wait that had completed already cannot be interrupted: interrupts the next one.
            arm(coracle::detail::later(owner_->now(), again));
            return;
        }
        bytes_ = 0;
        counted_ = exchange_->sent();
        waited_ = duration::zero();
        since_ = owner_->now();
        arm(coracle::detail::later(since_, time_));
    }

    loop* owner_;
    std::uint64_t least_;
    duration time_;
    coracle::detail::context* context_ = nullptr;
    const client_exchange* exchange_ = nullptr;
    std::uint64_t counted_ = 0;  ///< bytes sent when this wait or period began
    std::uint64_t bytes_ = 0;    ///< bytes sent by earlier waits of this period
    time_point since_{};
    duration waited_{};  ///< time of earlier waits of this period
    bool too_slow_ = false;
};

}  // namespace coracle::http::detail
