#include <coracle/runtime/condition.hpp>

namespace coracle {

bool condition_wait::start() noexcept {
    at_ = state::waiting;
    condition_->waiting_.push_back(*this);
    return false;
}

void condition_wait::cancel() noexcept {
    if (at_ == state::cancelled) return;
    const state before = at_;
    at_ = state::cancelled;
    mark_cancelled();
    if (before == state::waiting) owner().enqueue(*this);
    if (before == state::notified_alone) condition_->notify_one(met_);
}

bool condition::notify_one(std::uint64_t mask) noexcept {
    for (detail::runnable* r = waiting_.front(); r != nullptr; r = waiting_.next(*r)) {
        auto& w = static_cast<condition_wait&>(*r);
        if ((w.mask_ & mask) == 0) continue;
        // Passes the whole mask on: the next waiter may wait for other bits.
        w.met_ = mask;
        w.at_ = condition_wait::state::notified_alone;
        w.owner().hand_over(w);
        return true;
    }
    return false;
}

std::size_t condition::notify_all(std::uint64_t mask) noexcept {
    std::size_t count = 0;
    for (detail::runnable* r = waiting_.front(); r != nullptr;) {
        auto& w = static_cast<condition_wait&>(*r);
        r = waiting_.next(*r);
        if ((w.mask_ & mask) == 0) continue;
        w.met_ = mask;
        w.at_ = condition_wait::state::notified_with_all;
        w.owner().hand_over(w);
        ++count;
    }
    return count;
}

}  // namespace coracle
