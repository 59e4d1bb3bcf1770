#pragma once

#include <coracle/runtime/clock.hpp>

namespace coracle::detail {

/// The longest limit that is waited for: longer ones are taken for this, as their sums with the
/// present are no times of a clock.
inline constexpr duration century = std::chrono::hours(24 * 365 * 100);

}  // namespace coracle::detail
