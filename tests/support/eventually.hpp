#pragma once

#include <chrono>
#include <thread>

namespace coracle::testing {

/// Waits until `condition` holds, for what no event tells of: the end of a process that the kernel
/// is killing, say. Returns false if it does not hold within `limit`.
template <class Condition>
bool eventually(Condition condition, std::chrono::seconds limit = std::chrono::seconds(30)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

}  // namespace coracle::testing
