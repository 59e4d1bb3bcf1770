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

/// How many TLS handshakes with one origin are under way at a time. Who finds no permit waits for
/// one only where that is no loss: where handshakes are a matter of computing rather than of
/// travelling.
class handshake_turns {
public:
    /// 0: as many as there are.
    explicit handshake_turns(std::size_t limit) noexcept
        : permits_(limit != 0 ? limit : ~std::size_t{0}) {}

    /// What the network took to connect. The least of all is nearest to the truth: a loop that is
    /// busy notices late.
    void connected(duration took) noexcept { nearest_ = std::min(nearest_, took); }

    semaphore_permit try_hold() noexcept { return permits_.try_hold(); }
    bool worth_waiting() const noexcept { return nearest_ < near && !stands_still_; }
    /// Gives a permit, or none when that takes too long. Fails when it is cancelled.
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
    /// How long one waits for its turn.
    static constexpr duration patience = std::chrono::milliseconds(50);
    static constexpr duration near = std::chrono::milliseconds(2);

    semaphore permits_;
    duration nearest_ = duration::max();
    bool stands_still_ = false;  ///< those that come would wait for a peer that is slow, or silent
};

}  // namespace coracle::http::detail
