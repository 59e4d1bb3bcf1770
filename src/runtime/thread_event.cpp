#include "runtime/century.hpp"

#include <coracle/runtime/detail/thread_event.hpp>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

namespace coracle::detail {
namespace {

std::uint32_t* word_of(std::atomic<std::uint32_t>& state) noexcept {
    static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
    return reinterpret_cast<std::uint32_t*>(&state);
}

/// The time of CLOCK_MONOTONIC after `limit`.
timespec end_of(duration limit) noexcept {
    constexpr std::int64_t second = 1'000'000'000;
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const std::int64_t parts = now.tv_nsec + limit.count() % second;
    now.tv_sec += static_cast<time_t>(limit.count() / second + parts / second);
    now.tv_nsec = static_cast<long>(parts % second);
    return now;
}

}  // namespace

void thread_event::wake_all() noexcept {
    // The event may be destroyed by now: then the kernel finds no waiter at its address, or one
    // that checks its own word again.
    syscall(SYS_futex, word_of(state_), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

bool thread_event::block(const duration* limit) noexcept {
    if (limit != nullptr && *limit <= duration::zero()) return is_set();
    if (limit != nullptr && *limit >= century) limit = nullptr;
    timespec end{};
    if (limit != nullptr) end = end_of(*limit);
    for (;;) {
        std::uint32_t seen = off;
        state_.compare_exchange_strong(seen, awaited, std::memory_order_acq_rel);
        if (seen == is_on) return true;
        // FUTEX_WAIT_BITSET takes an absolute time.
        const long r = syscall(SYS_futex, word_of(state_), FUTEX_WAIT_BITSET_PRIVATE, awaited,
                               limit != nullptr ? &end : nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
        if (r != 0 && errno == ETIMEDOUT) return is_set();
    }
}

}  // namespace coracle::detail
