#pragma once

#include "process/plan.hpp"
#include "process/running_process.hpp"

#include <expected>
#include <optional>

namespace coracle::process::detail {

/// A running process, and our ends of its pipes.
struct launched {
    running_process process;
    owned_fd ends[3];
};

/// The standard streams while they are being opened: the process's ends, and ours.
struct standard_streams {
    owned_fd theirs[3];
    owned_fd ours[3];
    int opened = 0;  ///< how many of them are
};

/// The result of a launch; nothing if a FIFO still waits for its other end.
using launch_result = std::expected<std::optional<launched>, error>;

/// NAME=VALUE of all variables, on top of those of this program. On a thread that may read them.
std::vector<std::string> environment_of(const plan& p);

/// Returns EINVAL for texts that cannot be arguments or variables.
std::expected<void, error> check(const plan& p);

/// Opens the redirects and starts the program. Blocks, but not for the other end of a FIFO: then it
/// must be called again, and continues where it was.
launch_result launch(plan& p, standard_streams& streams);

}  // namespace coracle::process::detail
