#pragma once

#include <coracle/runtime/clock.hpp>

#include <atomic>
#include <cstdint>

namespace coracle::detail {

/// A flag that plain threads block on. Four bytes. It may be destroyed as soon as a wait, or
/// `is_set`, has seen it set.
class thread_event {
public:
    thread_event() noexcept = default;
    thread_event(const thread_event&) = delete;
    thread_event& operator=(const thread_event&) = delete;

    void set() noexcept {
        if (state_.exchange(is_on, std::memory_order_acq_rel) == awaited) wake_all();
    }
    bool is_set() const noexcept { return state_.load(std::memory_order_acquire) == is_on; }
    void wait() noexcept {
        if (!is_set()) block(nullptr);
    }
    /// Returns false if `limit` has passed first. A span without an end is none.
    bool wait_for(duration limit) noexcept { return is_set() || block(&limit); }

private:
    enum : std::uint32_t { off, awaited, is_on };

    void wake_all() noexcept;
    bool block(const duration* limit) noexcept;

    std::atomic<std::uint32_t> state_{off};
};

}  // namespace coracle::detail
