#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace coracle::tool::bench {

/// One bucket of a histogram that is not empty.
struct histogram_bucket {
    std::uint32_t index = 0;
    std::uint64_t count = 0;

    friend bool operator==(const histogram_bucket&, const histogram_bucket&) = default;
};

/// Counts of durations in nanoseconds, in log-linear buckets: each octave has 256 of equal width,
/// so that a percentile is off by 1/512 of its value (0.2%) at most, from a nanosecond to 2^42
/// (73 minutes). Values below 512 ns are exact; larger ones than the last bucket count in it. Fixed
/// size (70 KiB); recording is a few instructions, and never allocates.
class histogram {
public:
    static constexpr unsigned precision_bits = 8;
    static constexpr std::size_t per_octave = std::size_t{1} << precision_bits;
    static constexpr unsigned largest_bits = 42;
    static constexpr std::size_t buckets = (largest_bits - precision_bits + 1) * per_octave;
    static constexpr std::uint64_t largest = (std::uint64_t{1} << largest_bits) - 1;

    /// Returns the bucket of a value.
    static constexpr std::size_t index_of(std::uint64_t value) noexcept {
        value = std::min(value, largest);
        if (value < 2 * per_octave) return static_cast<std::size_t>(value);
        const auto shift = static_cast<unsigned>(std::bit_width(value)) - precision_bits - 1;
        return shift * per_octave + static_cast<std::size_t>(value >> shift);
    }
    /// The smallest value of a bucket, and the first one beyond it.
    static constexpr std::uint64_t lowest_of(std::size_t index) noexcept {
        if (index < 2 * per_octave) return index;
        const std::size_t shift = index / per_octave - 1;
        return std::uint64_t{per_octave + index % per_octave} << shift;
    }
    static constexpr std::uint64_t end_of(std::size_t index) noexcept {
        return lowest_of(index + 1);
    }
    static constexpr std::uint64_t middle_of(std::size_t index) noexcept {
        return lowest_of(index) + (end_of(index) - lowest_of(index)) / 2;
    }
    /// The rank, from 1 on, of the value that a share of `count` values, at least one, is not
    /// above.
    static std::uint64_t rank_of(double share, std::uint64_t count) noexcept;

    void record(std::uint64_t value) noexcept { record(value, 1); }
    void record(std::uint64_t value, std::uint64_t times) noexcept;
    void merge(const histogram& other) noexcept;
    void clear() noexcept;

    std::uint64_t count() const noexcept { return count_; }
    /// Exact; 0 while it is empty.
    std::uint64_t min() const noexcept { return count_ == 0 ? 0 : min_; }
    std::uint64_t max() const noexcept { return max_; }
    /// Exact but for the rounding of `double`; 0 while it is empty.
    double mean() const noexcept;
    double deviation() const noexcept;
    /// Returns the value that a share of the recorded ones (0 to 1) is not above: the middle of the
    /// bucket that holds the value of that rank, within `min` and `max`.
    std::uint64_t percentile(double share) const noexcept;
    /// Returns how many of the values are in buckets up to that of `value`.
    std::uint64_t count_up_to(std::uint64_t value) const noexcept;

    /// The buckets that are not empty, in order.
    std::vector<histogram_bucket> filled() const;
    /// Adds what `filled` gave of another one. Its minimum, maximum and sums are then those of the
    /// middles of buckets. Ignores indices that there are not.
    void add(std::span<const histogram_bucket> all) noexcept;

private:
    std::array<std::uint64_t, buckets> counts_{};
    std::uint64_t count_ = 0;
    std::uint64_t min_ = largest;
    std::uint64_t max_ = 0;
    double sum_ = 0;
    double squares_ = 0;
    // The part of the array that is in use: merging and searching look at nothing else.
    std::size_t first_ = buckets;
    std::size_t end_ = 0;
};

inline void histogram::record(std::uint64_t value, std::uint64_t times) noexcept {
    const std::size_t i = index_of(value);
    counts_[i] += times;
    count_ += times;
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
    const auto v = static_cast<double>(value);
    const auto n = static_cast<double>(times);
    sum_ += v * n;
    squares_ += v * v * n;
    first_ = std::min(first_, i);
    end_ = std::max(end_, i + 1);
}

}  // namespace coracle::tool::bench
