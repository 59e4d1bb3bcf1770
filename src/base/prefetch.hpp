// Prefetches memory that is about to be used. With a thousand connections and more it is never in
// the cache, and the system calls for one connection take long enough to load that of the next.

#pragma once

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

}  // namespace coracle::detail
