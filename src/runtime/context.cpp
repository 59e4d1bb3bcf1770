#include <coracle/runtime/detail/context.hpp>

namespace coracle::detail {

void context::cancel_this() noexcept {
    cancelled_ = true;
    if (waiting_ != nullptr) waiting_->cancel();
}

/// Returns the first that has to be cancelled with this: `from`, or a child after it.
context* context::first_to_cancel(context* from) noexcept {
    context* c = from;
    while (c != nullptr && (c->isolated_ || c->cancelled_)) c = children_.next(*c);
    return c;
}

/// Cancels in a loop: contexts nest as deep as tasks do, and the stack does not.
void context::cancel() noexcept {
    if (cancelled_) return;
    cancel_this();
    context* at = this;
    context* next = first_to_cancel(children_.front());
    for (;;) {
        while (next == nullptr) {
            if (at == this) return;
            context& parent = *at->parent_;
            next = parent.first_to_cancel(parent.children_.next(*at));
            at = &parent;
        }
        next->cancel_this();
        at = next;
        next = at->first_to_cancel(at->children_.front());
    }
}

void context::cancel_children() noexcept {
    for (context* c = children_.front(); c != nullptr; c = children_.next(*c)) c->cancel();
}

}  // namespace coracle::detail
