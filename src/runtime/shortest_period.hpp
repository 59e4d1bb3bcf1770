#pragma once

#include <coracle/runtime/clock.hpp>

#include <chrono>

namespace coracle::detail {

/// The shortest period of what is done again and again: an option of zero would leave no pause.
inline constexpr duration shortest_period = std::chrono::milliseconds(10);

}  // namespace coracle::detail
