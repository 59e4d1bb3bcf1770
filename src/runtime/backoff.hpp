#pragma once

#include <coracle/base/export.hpp>
#include <coracle/runtime/clock.hpp>

namespace coracle::detail {

// The library coracle-redis calls these.

/// The delay between two attempts that follows `last` (zero: there was none): `first`, then twice
/// as long each time, up to `longest`. At least a millisecond, whatever these are: nobody tries
/// again and again without a pause.
CORACLE_EXPORT duration next_delay(duration last, duration first, duration longest) noexcept;

/// Returns `delay` without up to a half of it, by the chance of the current loop, so that many who
/// failed together do not try again together.
CORACLE_EXPORT duration shortened_by_chance(duration delay) noexcept;

}  // namespace coracle::detail
