#pragma once

// A histogram of times whose buckets are 3% wide, so that a percentile costs no list of samples.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

class latencies {
public:
    void add(std::uint64_t ns) {
        ++counts_[index_of(ns)];
        ++total_;
    }
    void clear() {
        counts_.assign(size, 0);
        total_ = 0;
    }
    /// The lower bound of the bucket below which `share` of all lie, in ns.
    std::uint64_t percentile(double share) const {
        const auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(total_));
        std::uint64_t below = 0;
        for (std::size_t i = 0; i < size; ++i) {
            below += counts_[i];
            if (below > wanted) return value_of(i);
        }
        return 0;
    }

private:
    static constexpr unsigned fine_bits = 5;
    static constexpr std::size_t fine = std::size_t{1} << fine_bits;
    static constexpr std::size_t size = fine * (64 - fine_bits + 1);

    static std::size_t index_of(std::uint64_t ns) {
        if (ns < fine) return static_cast<std::size_t>(ns);
        const auto shift = static_cast<unsigned>(std::bit_width(ns)) - fine_bits - 1;
        return (std::size_t{shift} + 1) * fine + static_cast<std::size_t>((ns >> shift) - fine);
    }
    static std::uint64_t value_of(std::size_t index) {
        if (index < 2 * fine) return index;
        return (fine + index % fine) << (index / fine - 1);
    }

    std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(size, 0);
    std::uint64_t total_ = 0;
};

}  // namespace bench
