#include <coracle/runtime/event.hpp>

namespace coracle {

bool event_wait::start() noexcept {
    if (event_->set_ && owner().may_complete_inline()) return true;
    if (event_->set_)
        owner().enqueue(*this);
    else
        event_->waiting_.push_back(*this);
    return false;
}

void event_wait::cancel() noexcept {
    mark_cancelled();
    owner().enqueue(*this);
}

void event::set() noexcept {
    set_ = true;
    while (detail::runnable* w = waiting_.pop_front()) loop::current()->enqueue(*w);
}

}  // namespace coracle
