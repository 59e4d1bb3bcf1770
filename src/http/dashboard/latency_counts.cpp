#include "http/dashboard/latency_counts.hpp"

#include <cmath>
#include <numeric>

namespace coracle::http::detail {

double quantile_ms(const latency_counts::snapshot& counts, double share) noexcept {
    const auto all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    if (all == 0) return -1;
    const auto rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(all)));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i != counts.size(); ++i) {
        seen += counts[i];
        if (seen < rank || counts[i] == 0) continue;
        const double low = latency_counts::microseconds(i);
        return (low + latency_counts::microseconds(i + 1)) / 2 / 1000;
    }
    return -1;
}

}  // namespace coracle::http::detail
