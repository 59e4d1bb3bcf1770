#include "http/exchange/memory_watch.hpp"

namespace coracle::http::detail {
namespace {

constexpr duration pause = std::chrono::milliseconds(250);

}  // namespace

memory_watch::memory_watch(const server_options& o, bool of_the_system) : options_(&o) {
    if (o.limits.memory_percent == 0) return;
    if (!o.memory && of_the_system) groups_.emplace();
    if (o.memory || (groups_ && groups_->is_there())) next_read_ = next_look_ = time_point::min();
}

/// A source of the program's that throws knows nothing.
process::memory_use memory_watch::read() const noexcept {
    if (groups_) return groups_->read();
    try {
        return options_->memory();
    } catch (...) {
        return {};
    }
}

bool memory_watch::is_short(time_point now) noexcept {
    if (now >= next_read_) {
        constexpr double percent = 100;
        share_ = read().share() * percent / options_->limits.memory_percent;
        next_read_ = next_look_ = coracle::detail::later(now, pause);
        if (share_ > 1) next_look_ = time_point::min();
    }
    return share_ > 1;
}

}  // namespace coracle::http::detail
