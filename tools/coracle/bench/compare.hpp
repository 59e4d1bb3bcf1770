#pragma once

#include "bench_settings.hpp"

namespace coracle::tool::bench {

/// Reads two JSON reports, prints how their figures differ, and returns the exit code.
int compare_reports(const bench_settings& settings);

}  // namespace coracle::tool::bench
