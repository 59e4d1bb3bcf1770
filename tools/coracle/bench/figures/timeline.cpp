#include "timeline.hpp"

#include <algorithm>
#include <utility>

namespace coracle::tool::bench {
namespace {

void join(interval& into, const interval& more) {
    into.responses += more.responses;
    into.failures += more.failures;
    into.bytes_in += more.bytes_in;
    into.latency = joined(into.latency, more.latency);
}

}  // namespace

std::vector<histogram_bucket> joined(const std::vector<histogram_bucket>& a,
                                     const std::vector<histogram_bucket>& b) {
    std::vector<histogram_bucket> all;
    all.reserve(a.size() + b.size());
    auto i = a.begin();
    auto j = b.begin();
    while (i != a.end() || j != b.end()) {
        if (j == b.end() || (i != a.end() && i->index < j->index)) {
            all.push_back(*i++);
        } else if (i == a.end() || j->index < i->index) {
            all.push_back(*j++);
        } else {
            all.push_back({i->index, i->count + j->count});
            ++i;
            ++j;
        }
    }
    return all;
}

std::uint64_t percentile_of(const std::vector<histogram_bucket>& all, double share) {
    std::uint64_t count = 0;
    for (const histogram_bucket& b : all) count += b.count;
    if (count == 0) return 0;
    const std::uint64_t rank = histogram::rank_of(share, count);
    std::uint64_t below = 0;
    std::size_t index = 0;
    for (const histogram_bucket& b : all) {
        index = b.index;
        below += b.count;
        if (below >= rank) break;
    }
    return histogram::middle_of(index);
}

void timeline::add(std::uint64_t n, const counts& c) {
    // A pause of the machine may leave out spans; they had nothing.
    while (n / joined_ >= most) join_neighbours();
    const std::size_t at = static_cast<std::size_t>(n / joined_);
    if (at >= intervals_.size()) intervals_.resize(at + 1);
    join(intervals_[at], {.responses = c.responses(),
                          .failures = c.failed(),
                          .bytes_in = c.bytes_in,
                          .latency = c.latency.filled()});
}

void timeline::join_neighbours() {
    const std::size_t half = (intervals_.size() + 1) / 2;
    for (std::size_t i = 0; i != half; ++i) {
        interval one = std::move(intervals_[2 * i]);
        if (2 * i + 1 != intervals_.size()) join(one, intervals_[2 * i + 1]);
        intervals_[i] = std::move(one);
    }
    intervals_.resize(half);
    joined_ *= 2;
    length_ *= 2;
}

void timeline::cut(duration end) {
    const auto whole = static_cast<std::size_t>(std::max<std::int64_t>(end / length_, 0));
    if (whole < intervals_.size()) intervals_.resize(whole);
}

}  // namespace coracle::tool::bench
