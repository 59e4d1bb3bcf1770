#include <coracle/runtime/task_group.hpp>

#include <utility>

namespace coracle {

bool detail::place_wait::start() noexcept {
    if (!group_->has_place()) {
        group_->waiting_.push_back(*this);
        return false;
    }
    ++group_->reserved_;
    has_place_ = true;
    if (owner().may_complete_inline()) return true;
    owner().enqueue(*this);
    return false;
}

void detail::place_wait::cancel() noexcept {
    mark_cancelled();
    if (!std::exchange(has_place_, false)) return owner().enqueue(*this);
    // It is about to resume, and passes its place on.
    --group_->reserved_;
    group_->give_places();
}

void task_group::give_places() noexcept {
    while (below_limit()) {
        detail::runnable* first = waiting_.pop_front();
        if (first == nullptr) return;
        ++reserved_;
        auto& place = static_cast<detail::place_wait&>(*first);
        place.has_place_ = true;
        place.owner().enqueue(place);
    }
}

void task_group::member_ended(const std::exception_ptr& e) noexcept {
    if (e != nullptr && failure_ == nullptr) {
        failure_ = e;
        cancel();
    }
    --size_;
    give_places();
    if (size_ == 0 && emptied_ != nullptr) emptied_->run();
}

}  // namespace coracle
