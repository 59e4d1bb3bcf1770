// Prefetches what a backend is about to use.

#pragma once

#include "base/prefetch.hpp"

#include <coracle/runtime/backend.hpp>

namespace coracle::detail {

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
