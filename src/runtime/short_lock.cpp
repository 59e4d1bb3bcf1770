#include <coracle/runtime/detail/short_lock.hpp>

namespace coracle::detail {

void short_lock::lock_slowly() noexcept {
    // The holder is about to release it, unless its thread is not scheduled.
    for (int i = 0; i != 100; ++i) {
        std::uint32_t seen = word_.load(std::memory_order_relaxed);
        if (seen == open && word_.compare_exchange_weak(seen, held, std::memory_order_acquire,
                                                        std::memory_order_relaxed)) {
            return;
        }
    }
    while (word_.exchange(wanted, std::memory_order_acquire) != open) {
        word_.wait(wanted, std::memory_order_relaxed);
    }
}

void short_lock::wake_one() noexcept {
    word_.notify_one();
}

}  // namespace coracle::detail
