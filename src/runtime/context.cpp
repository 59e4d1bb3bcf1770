#include <coracle/runtime/context.hpp>

namespace coracle::detail {

void context::cancel() noexcept {
    if (cancelled_) return;
    cancelled_ = true;
    if (waiting_ != nullptr) waiting_->cancel();
    for (context* c = children_.front(); c != nullptr; c = children_.next(*c)) {
        if (!c->isolated_) c->cancel();
    }
}

}  // namespace coracle::detail
