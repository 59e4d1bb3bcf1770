#include <coracle/runtime/thread_event.hpp>

#include <condition_variable>
#include <mutex>

namespace coracle::detail {

struct thread_event::state {
    mutable std::mutex guard;
    std::condition_variable changed;
    bool set = false;
};

thread_event::thread_event() : state_(std::make_unique<state>()) {}
thread_event::~thread_event() = default;

void thread_event::set() noexcept {
    // Notified under the lock: a waiter that destroys the event cannot have left before.
    const std::lock_guard lock(state_->guard);
    state_->set = true;
    state_->changed.notify_all();
}

bool thread_event::is_set() const noexcept {
    const std::lock_guard lock(state_->guard);
    return state_->set;
}

void thread_event::wait() noexcept {
    std::unique_lock lock(state_->guard);
    state_->changed.wait(lock, [this] { return state_->set; });
}

bool thread_event::wait_for(duration limit) noexcept {
    // Beyond this the sum with the present would overflow.
    constexpr duration endless = std::chrono::hours(24 * 365 * 100);
    if (limit >= endless) {
        wait();
        return true;
    }
    std::unique_lock lock(state_->guard);
    return state_->changed.wait_for(lock, limit, [this] { return state_->set; });
}

}  // namespace coracle::detail
