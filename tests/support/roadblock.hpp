#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace coracle::testing {

/// Blocks a thread of a pool until it is let go. Where the loop that should do so is held itself,
/// it gives up: a test that has failed must end, too.
class roadblock {
public:
    void wait() {
        std::unique_lock lock(guard_);
        gave_up_ = !opened_.wait_for(lock, std::chrono::seconds(10), [this] { return open_; });
    }
    void open() {
        const std::lock_guard lock(guard_);
        open_ = true;
        opened_.notify_all();
    }
    bool gave_up() {
        const std::lock_guard lock(guard_);
        return gave_up_;
    }

private:
    std::mutex guard_;
    std::condition_variable opened_;
    bool open_ = false;
    bool gave_up_ = false;
};

}  // namespace coracle::testing
