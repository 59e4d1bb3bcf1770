#pragma once

#include "json_value.hpp"
#include "statistics.hpp"

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

namespace coracle::tool::bench {

enum class verdict : std::uint8_t {
    same,  ///< any difference is within the tolerance, or not to be told from chance
    better,
    worse,
    unknown,  ///< too few values
};

/// One figure of two reports.
struct compared_figure {
    std::string name;
    std::string unit;
    double before = 0;
    double after = 0;
    ratio_estimate change;
    verdict result = verdict::unknown;
    std::size_t values_before = 0;  ///< independent values that the interval is made of
    std::size_t values_after = 0;
};

/// The comparison of two reports.
struct comparison {
    std::vector<compared_figure> figures;
    /// Runs were compared; else the intervals of one run each.
    bool of_runs = false;
    /// Ways in which the loads differ: then the figures are not about the server alone.
    std::vector<std::string> differences;

    bool is_worse() const noexcept;
};

/// Compares two reports of --json. Where both have three runs or more, each run gives one value, as
/// runs are independent of each other. Else the intervals of the runs give the values, joined until
/// neighbours are hardly correlated (`batch_means`): what differs from run to run is then not in
/// the confidence. The interval of the ratio is Welch's, on logarithms, for the throughput on those
/// of the means; a figure is worse or better when the whole interval is, and the ratio is beyond
/// the tolerance (0.02: 2%). Fails with what is wrong with which report.
std::expected<comparison, std::string> compare(const json_value& before, const json_value& after,
                                               double confidence, double tolerance);

}  // namespace coracle::tool::bench
