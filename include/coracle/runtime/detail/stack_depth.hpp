#pragma once

#include <coracle/base/export.hpp>

#include <coroutine>
#include <cstdint>

namespace coracle::detail {

class context;

/// The most stack that frames which resume one another may take, in bytes; beyond it they go
/// through the loop. Well below the stack of any thread, well above what a turn needs.
inline constexpr std::uintptr_t deepest_stack = 128 * 1024;

/// The address that the stack of the turn on this thread may grow to; 0 outside of a turn.
CORACLE_EXPORT inline constinit thread_local std::uintptr_t stack_floor = 0;

/// About where the stack ends now.
#if defined(__clang__) || defined(__SANITIZE_ADDRESS__)
// With AddressSanitizer a local variable may stand elsewhere.
[[gnu::always_inline]] inline std::uintptr_t stack_position() noexcept {
    return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}
#else
[[gnu::always_inline]] inline std::uintptr_t stack_position() noexcept {
    // Cheaper than the address of the frame, which would need a register of its own.
    char here;
    return reinterpret_cast<std::uintptr_t>(&here);
}
#endif

/// Makes the loop resume `h` in the next turn. Returns what to resume now: nothing, or `h` where
/// there is no memory to note it.
std::coroutine_handle<> resume_in_next_turn(std::coroutine_handle<> h, context& c) noexcept;

/// Returns what `await_suspend` must return to resume `h`, in a task of `c`. Clang compiles that to
/// a jump at each level of optimisation. GCC compiles it to a call at -O0, -O1 and -Og unless it is
/// told -foptimize-sibling-calls, and with AddressSanitizer always: a loop over tasks that never
/// wait would then use up the stack, of which the program dies.
[[gnu::always_inline]] inline std::coroutine_handle<> within_stack(std::coroutine_handle<> h,
                                                                   context& c) noexcept {
#if defined(__clang__)
    static_cast<void>(c);
    return h;
#else
    if (stack_position() < stack_floor) [[unlikely]]
        return resume_in_next_turn(h, c);
    return h;
#endif
}

}  // namespace coracle::detail
