#include <coracle/runtime/call_after.hpp>

namespace coracle::detail {

void pending_call::arm(time_point due) {
    loop& l = context_.owner();
    context_.name = "call_after";
    context_.wait_on(*this, context_.owner().now());
    l.arm(*this, due);
    l.detached_started();
    // A loop that is stopping takes no more calls.
    if (context_.cancelled()) cancel();
}

void pending_call::expired() noexcept {
    // From here on the handle no longer refers to it, also if `call` uses the handle.
    if (handle_ != nullptr) std::exchange(handle_, nullptr)->call_ = nullptr;
    context_.done_waiting();
    try {
        call();
    } catch (...) {
        log_unhandled(context_.owner(), "call_after", std::current_exception());
    }
    drop();
}

void pending_call::cancel() noexcept {
    context_.owner().disarm(*this);
    context_.owner().enqueue(*this);
}

void pending_call::drop() noexcept {
    loop& l = context_.owner();
    l.disarm(*this);
    if (handle_ != nullptr) handle_->call_ = nullptr;
    context_.unlink();
    delete this;
    l.detached_ended();
}

}  // namespace coracle::detail

namespace coracle {

// Out of line, because g++ 12 warns of a dangling pointer when it sees the back link being set.
delayed_call::delayed_call(detail::pending_call& c) noexcept : call_(&c) {
    c.handle_ = this;
}

void delayed_call::take(delayed_call& other) noexcept {
    call_ = std::exchange(other.call_, nullptr);
    if (call_ != nullptr) call_->handle_ = this;
}

}  // namespace coracle
