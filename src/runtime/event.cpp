#include <coracle/runtime/event.hpp>

#include <cassert>

namespace coracle {

bool event_wait::start() noexcept {
    assert(event_->waiting_.empty() || event_->owner_ == &owner());
    event_->owner_ = &owner();
    if (event_->set_ && owner().may_complete_inline()) return true;
    if (event_->set_)
        owner().enqueue_behind(*this);
    else
        event_->waiting_.push_back(*this);
    return false;
}

void event_wait::cancel() noexcept {
    mark_cancelled();
    owner().enqueue(*this);
}

void event::set() noexcept {
    assert((owner_ == nullptr || owner_ == loop::current()) && "an event is of one loop");
    set_ = true;
    while (detail::runnable* w = waiting_.pop_front()) loop::current()->enqueue(*w);
}

}  // namespace coracle
