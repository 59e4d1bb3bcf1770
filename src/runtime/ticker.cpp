#include <coracle/runtime/ticker.hpp>

namespace coracle {

bool tick_wait::start() {
    loop& l = owner();
    const time_point due = ticker_->due();
    if (due <= l.now() && l.may_complete_inline()) return true;
    l.arm(*this, due);
    return false;
}

void tick_wait::cancel() noexcept {
    if (linked()) return;
    owner().disarm(*this);
    mark_cancelled();
    owner().enqueue(*this);
}

std::expected<std::uint64_t, error> tick_wait::result() const noexcept {
    const auto ticks = (owner().now() - ticker_->last_) / ticker_->period_;
    ticker_->last_ += ticks * ticker_->period_;
    return static_cast<std::uint64_t>(ticks);
}

}  // namespace coracle
