#include <coracle/runtime/sleep.hpp>

namespace coracle {

bool sleep_operation::start() {
    loop& l = owner();
    const time_point due = until_ == time_point::min() ? detail::later(l.now(), duration_) : until_;
    if (due <= l.now() && l.may_complete_inline()) return true;
    l.arm(*this, due);
    return false;
}

void sleep_operation::cancel() noexcept {
    if (linked()) return;
    owner().disarm(*this);
    mark_cancelled();
    owner().enqueue(*this);
}

}  // namespace coracle
