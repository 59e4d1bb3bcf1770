#pragma once

#include "figures/counts.hpp"
#include "figures/timeline.hpp"
#include "load_plan.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace coracle::tool::bench {

/// The state that the loops of a run share. Its figures are under a lock, which each loop takes a
/// few times a second.
class shared_run {
public:
    shared_run(const load_plan& plan, duration interval_length) noexcept
        : plan_(&plan), line_(interval_length), interval_(interval_length) {}

    const load_plan& plan() const noexcept { return *plan_; }
    duration interval_length() const noexcept { return interval_; }

    /// A lane has its connection, or could not get one.
    void lane_is_ready(bool connected) noexcept {
        if (connected) connected_.fetch_add(1, std::memory_order_relaxed);
        ready_.fetch_add(1, std::memory_order_release);
    }
    unsigned ready() const noexcept { return ready_.load(std::memory_order_acquire); }
    unsigned connected() const noexcept { return connected_.load(std::memory_order_relaxed); }

    /// Adds what one loop has counted in the n-th interval.
    void add(std::uint64_t n, const counts& c) {
        const std::lock_guard lock(guard_);
        line_.add(n, c);
        total_.merge(c);
        latest_ = std::max(latest_, n);
    }
    /// Keeps the first explanation of a failure.
    void note_reason(const std::string& why) {
        const std::lock_guard lock(guard_);
        if (reason_.empty()) reason_ = why;
    }
    std::string reason() const {
        const std::lock_guard lock(guard_);
        return reason_;
    }
    /// Calls `f(total, timeline)` under the lock.
    template <class F>
    auto look(F f) const {
        const std::lock_guard lock(guard_);
        return f(total_, line_);
    }
    timeline& line() noexcept { return line_; }

private:
    const load_plan* plan_;
    std::atomic<unsigned> ready_{0};
    std::atomic<unsigned> connected_{0};
    mutable std::mutex guard_;
    counts total_;
    timeline line_;
    duration interval_;
    std::uint64_t latest_ = 0;
    std::string reason_;
};

}  // namespace coracle::tool::bench
