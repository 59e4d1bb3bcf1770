#include <coracle/runtime/cancel_source.hpp>

namespace coracle::detail {

bool cancel_link::attach(cancel_state& source, loop& home) noexcept {
    source_ = &source;
    home_ = &home;
    const short_lock::guard hold(source.lock_);
    if (source.cancelled()) return false;
    at = state::attached;
    source.links_.push_back(*this);
    return true;
}

bool cancel_link::detach() noexcept {
    const short_lock::guard hold(source_->lock_);
    if (at != state::taken) {
        static_cast<list_hook&>(static_cast<remote_waiter&>(*this)).unlink();
        return true;
    }
    return arrived_;
}

void cancel_link::wake() noexcept {
    if (loop::current() == home_)
        arrived();
    else
        home_->post(static_cast<remote_runnable&>(*this));
}

void cancel_link::arrived() noexcept {
    arrived_ = true;
    cancelled_from_outside();
}

void cancel_state::cancel() noexcept {
    woken_list woken;
    {
        const short_lock::guard hold(lock_);
        if (cancelled_.exchange(true, std::memory_order_acq_rel)) return;
        while (cancel_link* l = links_.pop_front()) {
            l->at = cancel_link::state::taken;
            woken.push_back(*l);
        }
    }
    wake_all(woken);
}

}  // namespace coracle::detail
