#pragma once

#include <cstddef>

namespace coracle::testing {

/// Calls of the global operator new by this thread so far. The program that holds this counts;
/// under AddressSanitizer, where the pools stand aside and the sanitizer has its own operator new,
/// it does not.
std::size_t allocations() noexcept;

/// The bytes that they asked for.
std::size_t allocated_bytes() noexcept;

/// Whether these count.
bool counts_allocations() noexcept;

}  // namespace coracle::testing
