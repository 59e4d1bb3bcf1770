// Begins to load what is about to be touched. With a thousand connections and more all of it is
// cold each time, and the system calls for one connection take long enough for that of the next to
// come.

#pragma once

#include <coracle/runtime/backend.hpp>

namespace coracle::detail {

// GCC 12 takes a function that only prefetches for one without effect, and drops calls of it; hence
// always_inline.

/// The lines of memory from `first` on.
template <int Lines>
[[gnu::always_inline]] inline void prefetch(const void* first) noexcept {
    constexpr int line = 64;
    for (int i = 0; i != Lines; ++i) {
        __builtin_prefetch(static_cast<const char*>(first) + i * line, 1);
    }
}

/// The descriptor, and what it stands in.
[[gnu::always_inline]] inline void prefetch_descriptor(const descriptor* d) noexcept {
    prefetch<2>(reinterpret_cast<const char*>(d) - 16);
}

/// The operation, which begins with its awaiter, and what is around it in the frame of its task.
[[gnu::always_inline]] inline void prefetch_operation(const io_operation& op) noexcept {
    prefetch<9>(reinterpret_cast<const char*>(&op) - 320);
}

/// What else its completion touches: of an operation that is here already.
[[gnu::always_inline]] inline void prefetch_far_part(const io_operation& op) noexcept {
    __builtin_prefetch(op.far, 1);
}

}  // namespace coracle::detail
