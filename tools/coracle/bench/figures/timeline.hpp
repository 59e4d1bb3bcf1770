#pragma once

#include "counts.hpp"

#include <coracle/runtime/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace coracle::tool::bench {

/// The figures of a span of a run.
struct interval {
    std::uint64_t responses = 0;
    std::uint64_t failures = 0;
    std::uint64_t bytes_in = 0;
    std::vector<histogram_bucket> latency;
};

/// A run as a series of intervals of equal length. Of at most `most`: then neighbours are joined,
/// and the length doubles, so that a run of any length takes the same memory.
class timeline {
public:
    static constexpr std::size_t most = 512;

    explicit timeline(duration length) noexcept : length_(length) {}

    /// Adds what was counted in the n-th span of the first length, on one loop of perhaps several.
    void add(std::uint64_t n, const counts& c);

    duration length() const noexcept { return length_; }
    const std::vector<interval>& intervals() const noexcept { return intervals_; }
    /// Drops what begins at or after `end`, measured from the begin: a last interval that is not
    /// whole.
    void cut(duration end);

private:
    void join_neighbours();

    duration length_;
    std::uint64_t joined_ = 1;  ///< spans of the first length in one interval
    std::vector<interval> intervals_;
};

/// Adds up two lists of `histogram::filled`.
std::vector<histogram_bucket> joined(const std::vector<histogram_bucket>& a,
                                     const std::vector<histogram_bucket>& b);

/// The percentile of one, in nanoseconds, as `histogram::percentile`.
std::uint64_t percentile_of(const std::vector<histogram_bucket>& all, double share);

}  // namespace coracle::tool::bench
