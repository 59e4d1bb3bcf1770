#include "runtime/stall_watch.hpp"

#include <string>

namespace coracle::detail {

stall_watch::stall_watch(std::vector<const loop*> loops, duration limit, const logger& log,
                         tally& stalls)
    : limit_(limit), log_(log), stalls_(stalls) {
    for (const loop* l : loops) samples_.push_back({l});
    thread_ = std::thread([this] { watch(); });
}

stall_watch::~stall_watch() {
    {
        const std::lock_guard lock(guard_);
        over_ = true;
    }
    ends_.notify_one();
    thread_.join();
}

void stall_watch::watch() {
    std::unique_lock lock(guard_);
    while (!ends_.wait_for(lock, limit_ / looks, [this] { return over_; })) {
        for (sample& s : samples_) look(s);
    }
}

void stall_watch::look(sample& s) {
    const std::uint64_t turn = s.of->turns();
    if (turn != s.turn || turn == 0 || s.of->is_waiting()) {
        s.turn = turn;
        s.seen = 0;
        return;
    }
    // The first look may have come at any moment of the turn.
    if (++s.seen != looks + 1) return;
    ++stalls_;
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(limit_).count();
    log_.write(log_layer::runtime, log_level::warning,
               "loop " + std::to_string(s.of->index()) + " has been held for over " +
                   std::to_string(ms) + " ms by '" + s.of->running() + "'");
}

}  // namespace coracle::detail
