#include <coracle/runtime/semaphore.hpp>

namespace coracle::detail {

void permits::grant() noexcept {
    for (;;) {
        permit_request* first = waiting_.front();
        if (first == nullptr || first->count > free_) return;
        free_ -= first->count;
        waiting_.pop_front();
        first->at = permit_request::state::granted;
        first->granted();
    }
}

bool permits::withdraw(permit_request& r) noexcept {
    const bool waits = r.at == permit_request::state::waiting;
    r.at = permit_request::state::withdrawn;
    if (waits) {
        r.unlink();
        // Later waiters may request fewer.
        grant();
    } else {
        give(r.count);
    }
    return waits;
}

}  // namespace coracle::detail
