#pragma once

#include <coracle/runtime/operation.hpp>

namespace coracle {

class ticker;

/// What `ticker::next` gives.
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
/// drift. Ticks that nobody waited for are not caught up with one by one: the next wait tells how
/// many there were. Belongs to one loop; one task at a time waits.
class ticker {
public:
    /// The first tick is due a period after `start`. A period below 1 ns is one of 1 ns.
    ticker(duration period, time_point start) noexcept
        : period_(period < duration(1) ? duration(1) : period), last_(start) {}

    /// Completes when a tick is due that was not yet told of, at once when it was missed. Gives the
    /// number of ticks since the last time: 1 for who keeps up. Resumes from the loop. Cancelling
    /// it ends it; the tick is told of by the next wait.
    tick_wait next() noexcept { return tick_wait(*this); }

    duration period() const noexcept { return period_; }
    /// When the next tick that was not told of is due.
    time_point due() const noexcept { return detail::later(last_, period_); }

private:
    friend class tick_wait;
    duration period_;
    time_point last_;
};

/// A ticker that begins now, on the loop of this thread.
inline ticker every(duration period) noexcept {
    return {period, loop::current()->now()};
}

}  // namespace coracle
