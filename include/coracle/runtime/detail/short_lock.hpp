#pragma once

#include <atomic>
#include <cstdint>

namespace coracle::detail {

/// Guards a few instructions, in objects that loops and threads share. A thread that does not get
/// it at once spins a little, then sleeps. Without contention, locking and unlocking cost two
/// atomic exchanges.
class short_lock {
public:
    short_lock() noexcept = default;
    short_lock(const short_lock&) = delete;
    short_lock& operator=(const short_lock&) = delete;

    void lock() noexcept {
        std::uint32_t seen = open;
        // Acquire, and release in `unlock`: what one holder wrote the next one sees.
        if (!word_.compare_exchange_strong(seen, held, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
            lock_slowly();
        }
    }
    void unlock() noexcept {
        if (word_.exchange(open, std::memory_order_release) == wanted) wake_one();
    }

    /// Holds a lock until the end of its block.
    class guard {
    public:
        explicit guard(short_lock& l) noexcept : lock_(&l) { l.lock(); }
        guard(const guard&) = delete;
        guard& operator=(const guard&) = delete;
        ~guard() { lock_->unlock(); }

    private:
        short_lock* lock_;
    };

private:
    static constexpr std::uint32_t open = 0;
    static constexpr std::uint32_t held = 1;
    static constexpr std::uint32_t wanted = 2;  // held, and a thread may sleep

    void lock_slowly() noexcept;
    void wake_one() noexcept;

    std::atomic<std::uint32_t> word_{open};
};

}  // namespace coracle::detail
