#pragma once

#include <coracle/runtime/operation.hpp>

namespace coracle {

class ticker;

/// The awaitable returned by `ticker::next`.
class [[nodiscard]] tick_wait final : public detail::leaf<tick_wait, std::uint64_t>,
                                      public detail::timer {
public:
    static constexpr const char* name = "ticker";
    explicit tick_wait(ticker& t) noexcept : ticker_(&t) {}

    bool start();
    void cancel() noexcept override;
    void expired() noexcept override { complete(); }
    std::expected<std::uint64_t, error> result() const noexcept;

private:
    ticker* ticker_;
};

/// Ticks at fixed points in time: one period after it was made, two periods, and so on, without
/// drift. Missed ticks are not caught up with one by one: the next wait gives their number. Belongs
/// to one loop; one task at a time waits.
class ticker {
public:
    /// The first tick is due a period after `start`. A period below 1 ns is one of 1 ns.
    ticker(duration period, time_point start) noexcept
        : period_(period < duration(1) ? duration(1) : period), last_(start) {}

    /// Completes when a tick is due that was not reported yet, at once when it was missed. Returns
    /// the number of ticks since the last time: 1 for a task that keeps up. Resumes from the loop.
    /// Cancelling it ends the wait; the next wait reports the tick.
    tick_wait next() noexcept { return tick_wait(*this); }

    duration period() const noexcept { return period_; }
    /// The time at which the next unreported tick is due.
    time_point due() const noexcept { return detail::later(last_, period_); }

private:
    friend class tick_wait;
    duration period_;
    time_point last_;
};

/// A ticker that begins now, on the loop of this thread. Throws `exception`
/// (errc::no_loop) where there is none.
inline ticker every(duration period) {
    return {period, detail::loop_here("every").now()};
}

}  // namespace coracle
