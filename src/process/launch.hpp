#pragma once

#include "process/plan.hpp"
#include "process/running_process.hpp"

#include <expected>

namespace coracle::process::detail {

/// A process that runs, and our ends of its pipes.
struct launched {
    running_process process;
    owned_fd ends[3];
};

/// NAME=VALUE of all variables, on top of those of this program. On a thread that may read them.
std::vector<std::string> environment_of(const plan& p);

/// EINVAL for what no program can be given.
std::expected<void, error> check(const plan& p);

/// Opens what is redirected and starts the program. Blocks.
std::expected<launched, error> launch(plan& p);

}  // namespace coracle::process::detail
