#include "histogram.hpp"

#include <cmath>

namespace coracle::tool::bench {

void histogram::merge(const histogram& other) noexcept {
    if (other.count_ == 0) return;
    for (std::size_t i = other.first_; i != other.end_; ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
    sum_ += other.sum_;
    squares_ += other.squares_;
    first_ = std::min(first_, other.first_);
    end_ = std::max(end_, other.end_);
}

void histogram::clear() noexcept {
    if (count_ == 0) return;
    std::fill(counts_.begin() + static_cast<std::ptrdiff_t>(first_),
              counts_.begin() + static_cast<std::ptrdiff_t>(end_), 0);
    count_ = 0;
    min_ = largest;
    max_ = 0;
    sum_ = 0;
    squares_ = 0;
    first_ = buckets;
    end_ = 0;
}

double histogram::mean() const noexcept {
    return count_ == 0 ? 0 : sum_ / static_cast<double>(count_);
}

double histogram::deviation() const noexcept {
    if (count_ == 0) return 0;
    const double m = mean();
    return std::sqrt(std::max(0.0, squares_ / static_cast<double>(count_) - m * m));
}

std::uint64_t histogram::rank_of(double share, std::uint64_t count) noexcept {
    // Rounding adds less than what is taken off: 7% of 100 is 7.
    const double exact = std::clamp(share, 0.0, 1.0) * static_cast<double>(count);
    const double rank = std::ceil(exact - exact * 1e-12);
    return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(rank), 1, count);
}

std::uint64_t histogram::percentile(double share) const noexcept {
    if (count_ == 0) return 0;
    const std::uint64_t rank = rank_of(share, count_);
    if (rank == count_) return max_;
    std::uint64_t below = 0;
    for (std::size_t i = first_; i != end_; ++i) {
        below += counts_[i];
        if (below >= rank) return std::clamp(middle_of(i), min_, max_);
    }
    return max_;
}

std::uint64_t histogram::count_up_to(std::uint64_t value) const noexcept {
    const std::size_t end = std::min(index_of(value) + 1, end_);
    std::uint64_t n = 0;
    for (std::size_t i = first_; i < end; ++i) n += counts_[i];
    return n;
}

std::vector<histogram_bucket> histogram::filled() const {
    std::vector<histogram_bucket> all;
    for (std::size_t i = first_; i < end_; ++i) {
        if (counts_[i] != 0) all.push_back({static_cast<std::uint32_t>(i), counts_[i]});
    }
    return all;
}

void histogram::add(std::span<const histogram_bucket> all) noexcept {
    for (const histogram_bucket& b : all) {
        if (b.index >= buckets || b.count == 0) continue;
        record(middle_of(b.index), b.count);
    }
}

}  // namespace coracle::tool::bench
