#include <coracle/runtime/futex.hpp>

namespace coracle {

bool futex_wait::start() noexcept {
    futex& f = *futex_;
    const bool inline_allowed = owner().may_complete_inline();
    const detail::short_lock::guard hold(f.lock_);
    at = state::waiting;
    // A waker changes the word before it takes the lock: a waiter that still sees the old value
    // here is in the list when the waker looks.
    if (f.word.load(std::memory_order_acquire) == expected_) {
        f.waiting_.push_back(*this);
        return false;
    }
    if (inline_allowed) return true;
    at = state::cancelled;  // nothing to pass on
    owner().enqueue(*this);
    return false;
}

void futex_wait::cancel() noexcept {
    state before;
    {
        const detail::short_lock::guard hold(futex_->lock_);
        before = std::exchange(at, state::cancelled);
        if (before == state::waiting) static_cast<futex_waiter&>(*this).unlink();
    }
    mark_cancelled();
    if (before == state::waiting) owner().enqueue(*this);
    if (before == state::woken) futex_->wake(1);
}

bool futex::wait_blocking(std::uint32_t expected, duration limit) {
    detail::blocked_thread<detail::futex_waiter> self;
    {
        const detail::short_lock::guard hold(lock_);
        if (word.load(std::memory_order_acquire) != expected) return true;
        waiting_.push_back(self);
    }
    if (self.wait_for(limit)) return true;
    {
        const detail::short_lock::guard hold(lock_);
        if (self.at == detail::futex_waiter::state::waiting) {
            self.unlink();
            return false;
        }
    }
    self.wait();  // the waker that took it from the list is about to wake it
    return true;
}

std::size_t futex::wake(std::size_t n) noexcept {
    detail::woken_list woken;
    std::size_t count = 0;
    {
        const detail::short_lock::guard hold(lock_);
        for (; count != n; ++count) {
            detail::futex_waiter* w = waiting_.pop_front();
            if (w == nullptr) break;
            w->at = detail::futex_waiter::state::woken;
            woken.push_back(*w);
        }
    }
    detail::wake_all(woken);
    return count;
}

}  // namespace coracle
