#include <coracle/runtime/once.hpp>

namespace coracle {

bool detail::once_turn::start() noexcept {
    if (once_->state_ == once::state::running) {
        once_->waiting_.push_back(*this);
        return false;
    }
    mine_ = once_->state_ == once::state::idle;
    if (mine_) once_->state_ = once::state::running;
    if (owner().may_complete_inline()) return true;
    at_ = state::woken;
    owner().enqueue(*this);
    return false;
}

void detail::once_turn::cancel() noexcept {
    if (at_ == state::cancelled) return;
    const state before = at_;
    at_ = state::cancelled;
    mark_cancelled();
    if (before == state::waiting)
        owner().enqueue(*this);
    else if (mine_)
        once_->failed();
}

void once::wake(detail::once_turn& t, bool mine) noexcept {
    t.mine_ = mine;
    t.at_ = detail::once_turn::state::woken;
    t.owner().hand_over(t);
}

void once::succeeded() noexcept {
    state_ = state::done;
    while (detail::runnable* r = waiting_.pop_front()) {
        wake(static_cast<detail::once_turn&>(*r), false);
    }
}

void once::failed() noexcept {
    if (detail::runnable* r = waiting_.pop_front())
        wake(static_cast<detail::once_turn&>(*r), true);
    else
        state_ = state::idle;
}

}  // namespace coracle
