#pragma once

#include <cstdint>

namespace coracle::net {

/// Raises the number of descriptors that the process may open to the hard limit, as far as it can,
/// and gives what it then is. Affects the whole process.
std::uint64_t raise_descriptor_limit() noexcept;

/// Returns the number of descriptors that the process may have open now: the soft limit.
std::uint64_t descriptor_limit() noexcept;

}  // namespace coracle::net
