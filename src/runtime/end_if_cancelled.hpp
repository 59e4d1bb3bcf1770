#pragma once

#include <coracle/runtime/operation.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task.hpp>

namespace coracle::detail {

/// Ends the task where `e` says that it was cancelled: its next wait never returns.
inline task<> end_if_cancelled(const error& e) {
    if (is_cancellation(e)) co_await yield();
}

}  // namespace coracle::detail
