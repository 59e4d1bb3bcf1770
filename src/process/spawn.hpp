#pragma once

#include "process/running_process.hpp"

#include <cstddef>
#include <expected>
#include <span>

namespace coracle::process::detail {

/// A descriptor that the new process has under another number, or the same.
struct descriptor_map {
    int number;
    int source;
    int moved = -1;  ///< where it stands while numbers are shuffled
};

/// The actions of the new process until it runs the program. It shares our memory meanwhile, so
/// everything is prepared before.
struct spawn_request {
    const char* const* candidates = nullptr;  ///< paths of the program, up to a null
    char* const* arguments = nullptr;
    char* const* environment = nullptr;
    const char* directory = nullptr;
    std::span<descriptor_map> descriptors;
    int terminal = -1;  ///< to be the controlling one
    bool new_session = false;
    bool own_group = false;
    std::uint64_t descriptor_limit = 0;  ///< the soft limit that it gets; 0: ours
};

/// The call that failed, and its errno.
struct spawn_failure {
    const char* call = nullptr;
    int number = 0;
    std::size_t at = 0;  ///< of `descriptors`, where it is about one of them
};

/// Starts the program; blocks until it runs.
std::expected<running_process, spawn_failure> spawn(const spawn_request& request) noexcept;

}  // namespace coracle::process::detail
