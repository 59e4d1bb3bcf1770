// Begins to load what is about to be touched. With a thousand connections and more all of it is
// cold each time, and the system calls for one connection take long enough for that of the next to
// come.

#pragma once

#include <coracle/runtime/backend.hpp>

#include <cstdint>

namespace coracle::detail {

// GCC 12 takes a function that only prefetches for one without effect, and drops calls of it; hence
// always_inline.

/// Lines of memory, from so many bytes before `object` on. What stands there may be anything, and
/// `object` null: hence a number.
template <int Lines>
[[gnu::always_inline]] inline void prefetch(const void* object, std::uintptr_t before) noexcept {
    constexpr std::uintptr_t line = 64;
    const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(object) - before;
    for (std::uintptr_t i = 0; i != Lines; ++i) {
        __builtin_prefetch(reinterpret_cast<const void*>(first + i * line), 1);
    }
}

/// The descriptor, and what it stands in.
[[gnu::always_inline]] inline void prefetch_descriptor(const descriptor* d) noexcept {
    prefetch<2>(d, 16);
}

/// The operation, which begins with its awaiter, and what is around it in the frame of its task.
[[gnu::always_inline]] inline void prefetch_operation(const io_operation& op) noexcept {
    prefetch<9>(&op, 320);
}

/// What else its completion touches: of an operation that is here already.
[[gnu::always_inline]] inline void prefetch_far_part(const io_operation& op) noexcept {
    __builtin_prefetch(op.far, 1);
}

/// What the next three events will touch, before one is dispatched; null: there is none, or it is
/// of no descriptor of ours. In three steps, for each has to have come before the next can be asked
/// for.
[[gnu::always_inline]] inline void prefetch_events(const descriptor* next, const descriptor* second,
                                                   const descriptor* third) noexcept {
    if (next != nullptr && next->input != nullptr) prefetch_far_part(*next->input);
    if (second != nullptr && second->input != nullptr) prefetch_operation(*second->input);
    prefetch_descriptor(third);
}

}  // namespace coracle::detail
