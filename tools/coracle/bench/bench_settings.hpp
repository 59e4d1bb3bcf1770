#pragma once

#include "load_plan.hpp"

#include <string>
#include <vector>

namespace coracle::tool::bench {

/// Exit codes of the command.
enum bench_exit : int {
    bench_ok = 0,
    bench_no_response = 1,  ///< nothing could be measured
    bench_usage = 2,
    bench_malformed_url = 3,
    bench_failures = 22,     ///< with --fail: an error, or a status of 400 or above
    bench_write_error = 23,  ///< a report cannot be written
    bench_read_error = 26,   ///< a file cannot be read
    bench_worse = 103,       ///< with --compare: one figure is worse
    bench_interrupted = 130,
};

/// The settings of `coracle bench`.
struct bench_settings {
    load_plan load;
    unsigned runs = 1;
    std::string json;  ///< path of a report; "-": standard output; empty: none
    std::string html;
    bool silent = false;
    bool fail = false;
    std::vector<std::string> compare;  ///< two paths: then nothing is run
    double tolerance = 2;              ///< percent by which a figure may be worse
};

/// Runs the load, and reports; returns the exit code. Throws `failure` for settings that no run can
/// have.
int run_bench(const bench_settings& settings);

}  // namespace coracle::tool::bench
