#include <coracle/runtime/on.hpp>

namespace coracle::detail {

void errand::message::come_back() noexcept {
    returns_ = true;
    // Home does not end meanwhile: the task that waits there is one of its own.
    errand_->home_->post(*this);
}

void errand::message::arrived() noexcept {
    errand& e = *errand_;
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

void errand::send_start(loop& home) noexcept {
    home_ = &home;
    under_way_ = 1;
    start_.go(*away_);
}

void errand::send_cancel() noexcept {
    if (cancelled_.exchange(true, std::memory_order_relaxed)) return;
    ++under_way_;
    cancel_.go(*away_);
}

}  // namespace coracle::detail
