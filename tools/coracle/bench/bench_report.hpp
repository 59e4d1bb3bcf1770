#pragma once

#include "bench_settings.hpp"
#include "load_run.hpp"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace coracle::tool::bench {

/// The percentiles that reports have.
struct named_share {
    const char* name;
    double share;
};
inline constexpr std::array<named_share, 8> shown_percentiles{{{"p50", 0.5},
                                                               {"p75", 0.75},
                                                               {"p90", 0.9},
                                                               {"p95", 0.95},
                                                               {"p99", 0.99},
                                                               {"p99.9", 0.999},
                                                               {"p99.99", 0.9999},
                                                               {"p99.999", 0.99999}}};

/// The figures of the runs, one by one and together.
struct bench_report {
    explicit bench_report(const bench_settings& s) noexcept : settings(s) {}

    /// Adds up the runs, and looks for what makes them doubtful. After the last run.
    void conclude();

    const bench_settings& settings;
    std::vector<std::unique_ptr<run_figures>> runs;
    run_figures total;
    std::vector<std::string> warnings;
};

/// Responses a second.
double rate_of(const run_figures& f) noexcept;
/// Microseconds of the processors of this machine that one response has cost here.
double cost_of(const run_figures& f) noexcept;
/// "closed model", "open model, 5,000 requests/s".
std::string model_text(const load_plan& plan);

/// The report for people, several lines.
std::string text_of(const bench_report& report);
/// The report for programs: docs/bench.md describes the members.
std::string json_of(const bench_report& report);
/// A page that needs nothing else.
std::string html_of(const bench_report& report);

}  // namespace coracle::tool::bench
