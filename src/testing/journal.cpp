#include "testing/journal.hpp"

namespace coracle::testing::detail {

void journal::tell() noexcept {
    for (waiter* w = waiting_.front(); w != nullptr; w = waiting_.next(*w)) {
        if ((*w->reached)(records_)) w->event.set();
    }
    changed_.notify_all();
}

std::size_t journal::size() const {
    const std::lock_guard lock(guard_);
    return records_.size();
}

connection_record journal::at(std::size_t index) const {
    const std::lock_guard lock(guard_);
    return records_.at(index);
}

bool journal::wait_until(predicate reached, duration limit) {
    waiter self(reached);
    {
        const std::lock_guard lock(guard_);
        if (reached(records_)) return true;
        waiting_.push_back(self);
    }
    self.event.wait_for(limit);
    const std::lock_guard lock(guard_);
    // The event may have been set between the limit and the lock.
    const bool in_time = self.event.is_set();
    self.unlink();
    return in_time;
}

}  // namespace coracle::testing::detail
