#pragma once

#include <coracle/base/detail/tally.hpp>
#include <coracle/runtime/clock.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace coracle::http::detail {

/// Counts of durations in buckets that grow with them: eight for each power of two of
/// microseconds, so a quantile is right to 9%. The last one is for all from a minute on.
class latency_counts {
public:
    static constexpr std::size_t size = 8 * 24;
    using snapshot = std::array<std::uint64_t, size>;

    /// Called by one thread.
    void add(duration d) noexcept { ++counts_[index_of(d)]; }
    /// Adds what there is to `sum`. From any thread.
    void add_to(snapshot& sum) const noexcept {
        for (std::size_t i = 0; i != size; ++i) sum[i] += counts_[i];
    }

    static std::size_t index_of(duration d) noexcept {
        const auto us = static_cast<std::uint64_t>(d.count() < 0 ? 0 : d.count() / 1000);
        if (us < 8) return us;
        const auto power = static_cast<std::size_t>(std::bit_width(us)) - 4;
        return std::min(size - 1, 8 * (power + 1) + (us >> power) - 8);
    }
    /// The lower end of a bucket, in microseconds.
    static double microseconds(std::size_t index) noexcept {
        if (index < 8) return static_cast<double>(index);
        const std::size_t power = index / 8 - 1;
        return static_cast<double>((index % 8 + 8) << power);
    }

private:
    std::array<tally, size> counts_;
};

/// The duration in milliseconds below which a share of the counts lies; negative where there are
/// none.
double quantile_ms(const latency_counts::snapshot& counts, double share) noexcept;

}  // namespace coracle::http::detail
