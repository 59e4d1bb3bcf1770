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

} // namespace coracle
