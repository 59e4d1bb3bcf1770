#pragma once

#include "figures/counts.hpp"
#include "figures/timeline.hpp"
#include "load_plan.hpp"

#include <coracle/base/log.hpp>
#include <coracle/runtime/signals.hpp>

#include <memory>
#include <string>

namespace coracle::tool::bench {

class live_display;

/// One run, measured.
struct run_figures {
    counts total;
    timeline line{duration(1)};
    duration measured{};  ///< the span that counts
    duration user_cpu{};  ///< of this process, in it
    duration system_cpu{};
    double busiest_loop = 0;  ///< the share of the span in which the busiest loop worked
    std::string reason;       ///< of the first failure that has one
    bool interrupted = false;
};

/// Makes one run, and shows it on `display` while it goes on. Throws `failure` when it cannot be
/// made.
std::unique_ptr<run_figures> run_load(const load_plan& plan, live_display& display,
                                      signal_set& signals, logger& log);

}  // namespace coracle::tool::bench
