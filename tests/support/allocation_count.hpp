#pragma once

#include <cstddef>
#include <new>

namespace coracle::testing {

/// Calls of the global operator new by this thread so far. The program that holds this counts;
/// under AddressSanitizer, where the pools stand aside and the sanitizer has its own operator new,
/// it does not.
std::size_t allocations() noexcept;

/// The bytes that they asked for.
std::size_t allocated_bytes() noexcept;

/// Returns true if these functions count.
bool counts_allocations() noexcept;

/// Makes the `n`-th allocation of this thread from now on fail, once; 0: none.
void fail_allocation(std::size_t n) noexcept;

/// Returns true if the failure that `fail_allocation` requested is still to come.
bool allocation_will_fail() noexcept;

/// Calls `f` with the `n`-th allocation failing. Returns true if that ended it.
template <class F>
bool fails_at(std::size_t n, F f) {
    bool failed = false;
    fail_allocation(n);
    try {
        f();
    } catch (const std::bad_alloc&) {
        failed = true;
    }
    fail_allocation(0);
    return failed;
}

/// Allocations of the whole process that were not freed.
std::ptrdiff_t live_allocations() noexcept;

}  // namespace coracle::testing
