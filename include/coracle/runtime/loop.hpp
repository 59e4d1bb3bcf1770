#pragma once

#include <coracle/base/block_pool.hpp>
#include <coracle/base/log.hpp>
#include <coracle/base/unique_function.hpp>
#include <coracle/runtime/backend.hpp>
#include <coracle/runtime/clock.hpp>
#include <coracle/runtime/context.hpp>
#include <coracle/runtime/timer.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

namespace coracle {

class loop;

namespace detail {

inline constinit thread_local loop* current_loop = nullptr;

/// Something that the loop runs in its next turn. Queued at most once; leaves the queue when
/// destroyed.
class runnable : public list_hook {
public:
    runnable() noexcept = default;
    runnable(runnable&&) noexcept = default;
    virtual void run() noexcept = 0;

protected:
    ~runnable() = default;
};

}  // namespace detail

/// An event loop: it waits for its backend, fires timers and resumes tasks, all on one thread.
/// Only `post` and `stop` may be called from other threads.
class loop {
public:
    /// `log` must outlive the loop.
    loop(std::unique_ptr<coracle::backend> b, const logger& log, unsigned index = 0);
    ~loop();
    loop(const loop&) = delete;
    loop& operator=(const loop&) = delete;

    /// The loop that runs on this thread, or null.
    static loop* current() noexcept { return detail::current_loop; }

    /// The monotonic time at which this turn began.
    time_point now() const noexcept { return now_; }
    /// Seconds since 1970-01-01 00:00 UTC. A clock that is set is noticed within a second.
    std::int64_t unix_time() noexcept {
        if (now_ >= next_second_) read_wall_clock();
        return unix_time_;
    }
    std::uint64_t random() noexcept { return backend_->random(); }
    unsigned index() const noexcept { return index_; }
    coracle::backend& backend() noexcept { return *backend_; }
    const logger& log() const noexcept { return log_; }

    /// Runs `f` on this loop in a later turn. From any thread. `f` must not throw. What was posted
    /// when the loop ends is destroyed without being run.
    void post(unique_function<void()> f);

    /// Runs until `done` is true, after which it stops all tasks that are left and waits for them.
    void run_until(const bool& done);

    /// Asks every task of this loop to stop. From any thread.
    void stop();

    /// Makes a loop that has ended fit to run again: drops what is posted, `stop` included. Not
    /// while it runs.
    void reset();

    /// The context beneath which detached tasks run.
    detail::context& root() noexcept { return root_; }

    /// Detached tasks that have not ended.
    void detached_started() noexcept { ++detached_; }
    void detached_ended() noexcept { --detached_; }

    void enqueue(detail::runnable& r) noexcept { ready_.push_back(r); }
    /// A time in the past is now: a task that armed earlier ones again and again would hold up all
    /// other timers, which fire in order.
    void arm(detail::timer& t, time_point due) { timers_.arm(t, due < now_ ? now_ : due); }
    void disarm(detail::timer& t) noexcept { timers_.disarm(t); }
    detail::deadline_wheel& deadlines() noexcept { return deadlines_; }

    /// Whether one more operation may complete without waiting for the next turn. Bounds how long
    /// a task that never waits holds the loop.
    bool may_complete_inline() noexcept {
        if (inline_budget_ == 0) return false;
        --inline_budget_;
        return true;
    }
    /// Called where the loop hands control to a task.
    void refill_inline_budget() noexcept { inline_budget_ = inline_budget; }

    /// Completes `op` from the next turn on, with the result that it has.
    void complete_later(io_operation& op) noexcept { completed_.push_back(op); }

    std::uint64_t turns() const noexcept { return turns_.load(std::memory_order_relaxed); }

private:
    struct posted;
    static constexpr unsigned inline_budget = 64;

    void read_wall_clock() noexcept;
    void enter();
    void leave();
    void turn();
    void run_ready() noexcept;
    void run_posted() noexcept;
    void drop_posted();
    time_point next_wake(bool busy) const noexcept;
    bool over() const noexcept;
    void trim_when_idle() noexcept;

    std::unique_ptr<coracle::backend> backend_;
    const logger& log_;
    block_pool pool_;
    block_pool* outer_pool_ = nullptr;
    loop* outer_loop_ = nullptr;
    time_point now_;
    std::int64_t unix_time_ = 0;
    time_point next_second_ = time_point::min();
    intrusive_list<detail::runnable> ready_;
    intrusive_list<io_operation> completed_;
    detail::timer_heap timers_;
    detail::deadline_wheel deadlines_;
    detail::context root_;
    std::uint64_t detached_ = 0;
    const bool* done_ = nullptr;
    unsigned inline_budget_ = inline_budget;
    unsigned index_;
    time_point trimmed_;
    std::atomic<posted*> posted_{nullptr};
    std::atomic<std::uint64_t> turns_{0};
};

inline void deadline::arm_in(duration d) noexcept {
    arm(detail::later(owner_->now(), d));
}

}  // namespace coracle
