#pragma once

#include <coracle/runtime/clock.hpp>
#include <coracle/runtime/semaphore.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <expected>
#include <utility>

namespace coracle::http::detail {

/// Limits the TLS handshakes with one origin under way at a time. A handshake waits for a permit
/// only if that costs no time: where handshakes are bound by the processor, not the network.
class handshake_turns {
public:
    /// `limit` 0: no limit.
    explicit handshake_turns(std::size_t limit) noexcept
        : permits_(limit != 0 ? limit : ~std::size_t{0}) {}

    /// Records the time that a connect took. The shortest time is the best estimate of the round
    /// trip: a busy loop notices late.
    void connected(duration took) noexcept { nearest_ = std::min(nearest_, took); }

    semaphore_permit try_hold() noexcept { return permits_.try_hold(); }
    bool worth_waiting() const noexcept { return nearest_ < near && !stands_still_; }
    /// Waits for a permit. Returns an empty one when that takes too long; fails when cancelled.
    task<std::expected<semaphore_permit, error>> wait() {
        const auto hold = [this] { return permits_.hold(); };
        auto waiting = with_timeout(patience, hold);
        auto granted = co_await as_result(waiting);
        if (granted || granted.error() != std::errc::timed_out) co_return std::move(granted);
        stands_still_ = true;
        co_return semaphore_permit();
    }
    void ended(duration took) noexcept { stands_still_ = took >= patience; }

private:
    /// The longest wait for a permit.
    static constexpr duration patience = std::chrono::milliseconds(50);
    static constexpr duration near = std::chrono::milliseconds(2);

    semaphore permits_;
    duration nearest_ = duration::max();
    bool stands_still_ = false;  ///< the peer is slow or silent, so waiting would not help
};

}  // namespace coracle::http::detail
