// Prefetches memory that is about to be used. With a thousand connections and more it is never in
// the cache, and the system calls for one connection take long enough to load that of the next.

#pragma once

#include <coracle/runtime/backend.hpp>

#include <cstdint>

namespace coracle::detail {

// GCC 12 treats a function that only prefetches as one without effect, and removes its calls; hence
// always_inline.

/// Prefetches cache lines from `before` bytes before `object` on. The memory may be anything, and
/// `object` null, so addresses are numbers.
template <int Lines>
[[gnu::always_inline]] inline void prefetch(const void* object, std::uintptr_t before) noexcept {
    constexpr std::uintptr_t line = 64;
    const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(object) - before;
    for (std::uintptr_t i = 0; i != Lines; ++i) {
        __builtin_prefetch(reinterpret_cast<const void*>(first + i * line), 1);
    }
}

/// Prefetches the descriptor and its surroundings.
[[gnu::always_inline]] inline void prefetch_descriptor(const descriptor* d) noexcept {
    prefetch<2>(d, 16);
}

/// Prefetches the operation, which begins with its awaiter, and its surroundings in the frame of
/// its task.
[[gnu::always_inline]] inline void prefetch_operation(const io_operation& op) noexcept {
    prefetch<9>(&op, 320);
}

/// Prefetches the rest of what the completion of an operation touches; the operation itself is in
/// the cache already.
[[gnu::always_inline]] inline void prefetch_far_part(const io_operation& op) noexcept {
    __builtin_prefetch(op.far, 1);
}

/// Prefetches for the next three events before one is dispatched; null: there is none, or it is of
/// no descriptor of ours. In three steps, for each address is read from the memory that the step
/// before fetched.
[[gnu::always_inline]] inline void prefetch_events(const descriptor* next, const descriptor* second,
                                                   const descriptor* third) noexcept {
    if (next != nullptr && next->input != nullptr) prefetch_far_part(*next->input);
    if (second != nullptr && second->input != nullptr) prefetch_operation(*second->input);
    prefetch_descriptor(third);
}

}  // namespace coracle::detail
