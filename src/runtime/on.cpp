#include <coracle/runtime/on.hpp>

namespace coracle::detail {

void remote_call::message::come_back() noexcept {
    returns_ = true;
    // The home loop does not end meanwhile, because a task of its own waits there.
    call_->home_->post(*this);
}

void remote_call::message::arrived() noexcept {
    remote_call& e = *call_;
    if (returns_) {
        if (--e.under_way_ == 0) e.all_back();
    } else if (this == &e.cancel_) {
        e.cancel_away();
        come_back();
    } else if (e.cancel_was_sent()) {
        come_back();
    } else {
        e.start_away();
    }
}

void remote_call::send_start(loop& home) noexcept {
    home_ = &home;
    under_way_ = 1;
    start_.go(*away_);
}

void remote_call::send_cancel() noexcept {
    if (cancelled_.exchange(true, std::memory_order_relaxed)) return;
    ++under_way_;
    cancel_.go(*away_);
}

}  // namespace coracle::detail
