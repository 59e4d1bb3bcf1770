#pragma once

#include "unit/testing/simulated_pair.hpp"

#include <coracle/fs/file.hpp>
#include <coracle/testing/simulated_disk.hpp>

namespace simulated {

using flags = fs::open_flags;

inline constexpr flags written = flags::write | flags::create;
inline constexpr flags both = flags::read | flags::write | flags::create;

/// A world in which only what a test asks for goes wrong.
inline simulation_options plain() {
    simulation_options o;
    o.split = false;
    return o;
}

/// The usual world of this seed, on a disk that outlives it.
inline simulation_options over(simulated_disk& disk, std::uint64_t seed) {
    simulation_options o = seeded(seed);
    o.disk = &disk;
    return o;
}

}  // namespace simulated
