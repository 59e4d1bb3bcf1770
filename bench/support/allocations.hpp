#pragma once

// Counts what a program allocates. Link allocations.cpp, which replaces `operator new`.

#include <atomic>
#include <cstdint>

namespace bench {

/// Calls of `operator new` in this process, on all threads.
extern std::atomic<std::uint64_t> allocations;

}  // namespace bench
