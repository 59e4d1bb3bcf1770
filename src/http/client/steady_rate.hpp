#pragma once

#include <coracle/runtime/clock.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace coracle::http::detail {

/// An average rate in bytes a second, counted from the first call of `ahead`.
class steady_rate {
public:
    /// Returns the time by which `bytes` in total are ahead of `rate`, in bytes a second; zero if
    /// less than a millisecond.
    duration ahead(std::uint64_t bytes, std::uint64_t rate, time_point now) noexcept {
        if (since_ == time_point()) since_ = now;
        // The longest time in seconds that fits `duration`.
        constexpr double longest = 1e9;
        const double due = static_cast<double>(bytes) / static_cast<double>(rate);
        const std::chrono::duration<double> wanted(std::min(due, longest));
        const duration left = std::chrono::duration_cast<duration>(wanted) - (now - since_);
        return left <= std::chrono::milliseconds(1) ? duration::zero() : left;
    }

private:
    time_point since_{};
};

}  // namespace coracle::http::detail
