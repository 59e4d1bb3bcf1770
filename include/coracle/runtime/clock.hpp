#pragma once

#include <chrono>
#include <cstdint>

namespace coracle {

using duration = std::chrono::nanoseconds;

/// A point on a loop's monotonic clock. Only a loop makes one (`loop::now`); in a simulation it is
/// virtual.
struct monotonic_clock {
    using duration = coracle::duration;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<monotonic_clock>;
    static constexpr bool is_steady = true;
};

using time_point = monotonic_clock::time_point;

namespace detail {

/// `t + d`; a span without an end reaches to the end of time, not into the past.
constexpr time_point later(time_point t, duration d) noexcept {
    duration::rep sum = 0;
    if (!__builtin_add_overflow(t.time_since_epoch().count(), d.count(), &sum)) {
        return time_point(duration(sum));
    }
    return d.count() < 0 ? time_point::min() : time_point::max();
}

}  // namespace detail

}  // namespace coracle
