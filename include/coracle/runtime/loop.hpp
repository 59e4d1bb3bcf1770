#pragma once

#include <coracle/base/detail/block_pool.hpp>
#include <coracle/base/log.hpp>
#include <coracle/base/unique_function.hpp>
#include <coracle/runtime/backend.hpp>
#include <coracle/runtime/clock.hpp>
#include <coracle/runtime/detail/context.hpp>
#include <coracle/runtime/detail/resident.hpp>
#include <coracle/runtime/timer.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

namespace coracle {

class loop;
class thread_pool;

namespace detail {

CORACLE_EXPORT inline constinit thread_local loop* current_loop = nullptr;

[[noreturn]] void throw_no_loop(const char* operation);

/// Returns the loop that runs on this thread. Throws `exception` (errc::no_loop) for
/// `operation` where there is none.
inline loop& loop_here(const char* operation) {
    if (current_loop == nullptr) throw_no_loop(operation);
    return *current_loop;
}

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

/// Something that any thread hands to a loop without an allocation. Posted to one loop at a time.
class remote_runnable {
public:
    remote_runnable() noexcept = default;
    remote_runnable(remote_runnable&&) noexcept {}  ///< while it is not posted
    remote_runnable& operator=(remote_runnable&&) = delete;
    /// Called on the loop, in a later turn. It may be posted again then, or destroyed.
    virtual void arrived() noexcept = 0;
    /// The loop ended before its turn came. It may be destroyed then.
    virtual void dropped() noexcept = 0;

    remote_runnable* next = nullptr;  ///< the loop's

protected:
    ~remote_runnable() = default;
};

}  // namespace detail

/// Statistics of a loop since it was made.
struct loop_statistics {
    std::uint64_t turns = 0;
    std::uint64_t tasks = 0;         ///< times that a task, or a posted function, got to run
    std::uint64_t ready = 0;         ///< of these, in the last turn that has ended
    std::uint64_t waits = 0;         ///< times that it asked the system for events
    std::uint64_t events = 0;        ///< events reported by the system
    std::uint64_t system_calls = 0;  ///< others than these waits
    duration processor_time{};       ///< of its thread
    duration age{};
    /// The share of its age in which it was busy: near 1, it can take no more.
    double busy() const noexcept {
        return age > duration::zero() ? std::chrono::duration<double>(processor_time) /
                                            std::chrono::duration<double>(age)
                                      : 0;
    }
};

/// An event loop: it waits for its backend, fires timers and resumes tasks, all on one thread.
/// From other threads only functions may be called that say so: `post`, `stop`, `statistics` and a
/// few more.
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
    /// when the loop ends is destroyed without being run; so is `f`, before the call returns, on a
    /// loop that has ended and does not run again yet: then it gives false.
    bool post(unique_function<void()> f);
    /// Posts `r`, which must live until it has arrived or was dropped. Allocates nothing. False
    /// when the loop has ended; then nothing is called. Until it returns the loop is kept from
    /// being destroyed, so what `r` makes happen may end the loop.
    bool post(detail::remote_runnable& r) noexcept;

    /// Runs until `done` is true, after which it stops all tasks that are left and waits for them;
    /// then its services.
    void run_until(const bool& done);

    /// Runs one turn of `run_until(done)`. For a caller that drives several loops in one thread.
    /// Returns when the next turn is due: `time_point::min()` for at once.
    time_point run_turn(const bool& done);
    /// Follows the last `run_turn`: destroys residents, and refuses all later posts.
    void end_turns() noexcept;

    /// Asks every task of this loop to stop. From any thread. Nothing on a loop that has ended.
    /// Allocates nothing.
    void stop() noexcept;

    /// Returns true once the loop has run and refuses posts. From any thread.
    bool has_ended() const noexcept;
    /// Makes a loop that has ended fit to run again: from now on it takes what is posted. Nothing
    /// on any other, which keeps what is posted. Not while it runs.
    void reset() noexcept;

    /// Keeps `r` until it is destroyed, or the loop ends. On its thread.
    void settle(resident& r) noexcept { residents_.push_front(r); }
    /// Returns the resident that `owner` keeps here, or null. On the loop's thread.
    resident* find_resident(const void* owner) noexcept {
        for (resident* r = residents_.front(); r != nullptr; r = residents_.next(*r)) {
            if (r->owner() == owner) return r;
        }
        return nullptr;
    }

    /// The parent context of detached tasks.
    detail::context& root() noexcept { return root_; }

    /// The pool for blocking work; null: it runs on the loop itself, as in a simulation.
    thread_pool* offload_pool() const noexcept { return offload_pool_; }
    /// The pool for the library's own file work, which must not wait behind the work of users;
    /// null: it runs on the loop itself.
    thread_pool* file_pool() const noexcept { return file_pool_; }
    void offload_to(thread_pool* pool, thread_pool* files = nullptr) noexcept {
        offload_pool_ = pool;
        file_pool_ = files != nullptr ? files : pool;
    }

    /// Detached tasks that have not ended.
    void detached_started() noexcept { ++detached_; }
    void detached_ended() noexcept { --detached_; }
    std::uint64_t detached() const noexcept { return detached_; }

    /// Tasks of the library that carry the calls of others: they stop last, so that what cleans up
    /// after the end of the main task can still make calls.
    void service_started() noexcept { ++services_; }
    void service_ended() noexcept { --services_; }
    std::uint64_t services() const noexcept { return services_; }
    bool stops_services() const noexcept { return stops_services_; }
    /// Asks the services to stop, and those that begin later. On the loop's thread, or while it
    /// takes no turn.
    void stop_services() noexcept;

    /// Enqueues for the next turn.
    void enqueue(detail::runnable& r) noexcept { ready_.push_back(r); }
    /// Enqueues a task that has used up its share: it goes on in a later turn, behind all others.
    void enqueue_behind(detail::runnable& r) noexcept {
        any_spent_ = true;
        spent_in_this_turn_.push_back(r);
    }
    /// Enqueues a task that another task has handed something to: it runs in this turn if its share
    /// allows, which saves the system call that ends a turn.
    void hand_over(detail::runnable& r) noexcept { handed_.push_back(r); }
    /// Enqueues for the next turn, never for this one: a runnable that was enqueued by a posted one
    /// runs in the same turn.
    void enqueue_for_next_turn(detail::runnable& r) noexcept { later_.push_back(r); }
    /// A time in the past is now: a task that armed earlier ones again and again would hold up all
    /// other timers, which fire in order.
    void arm(detail::timer& t, time_point due) noexcept { timers_.arm(t, due < now_ ? now_ : due); }
    void disarm(detail::timer& t) noexcept { timers_.disarm(t); }
    detail::deadline_wheel& deadlines() noexcept { return deadlines_; }

    /// Returns true if one more operation may complete without waiting for a later turn. Bounds how
    /// long a task that never waits holds the loop.
    bool may_complete_inline() noexcept {
        if (inline_budget_ == 0) return false;
        --inline_budget_;
        return true;
    }
    /// Called where the loop hands control to a task.
    void refill_inline_budget() noexcept { inline_budget_ = share_; }

    /// Tasks that start tasks nest on the stack: to a depth that this bounds. When it gives false
    /// the start has to come from the loop; else `start_ended` follows.
    bool may_start_inline() noexcept {
        if (nested_starts_ == nested_starts_limit) return false;
        ++nested_starts_;
        return true;
    }
    void start_ended() noexcept { --nested_starts_; }
    /// Starts a task that the running one spawns. It has a share of its own, or the first client
    /// would use up what the acceptor has for all; its operations cost the running task one, or it
    /// has a few where that has none left. What it spawns itself has no share of its own.
    void start_spawned(std::coroutine_handle<> first) {
        constexpr unsigned few = 4;
        if (nested_starts_ > 1) return first.resume();
        const unsigned left = inline_budget_;
        const unsigned own = left != 0 ? share_ : few;
        inline_budget_ = own;
        first.resume();
        inline_budget_ = left == 0 || inline_budget_ == own ? left : left - 1;
    }

    /// Completes `op` from the next turn on, with the result that it has.
    void complete_later(io_operation& op) noexcept { completed_.push_back(op); }
    /// Completes an operation of a task that has used up its share: behind all others.
    void complete_behind(io_operation& op) noexcept {
        any_spent_ = true;
        completed_spent_in_this_turn_.push_back(op);
    }

    /// Notes whose turn it is, for reports of stalls: a literal.
    void runs(const char* name) noexcept { running_.store(name, std::memory_order_relaxed); }
    /// The task that runs, or ran last. From any thread.
    const char* running() const noexcept { return running_.load(std::memory_order_relaxed); }

    /// Returns true while the loop waits for events, as seen by another thread.
    bool is_waiting() const noexcept { return backend_->is_waiting(); }

    /// Timers that are armed, but for the deadlines of connections.
    std::size_t timers() const noexcept { return timers_.size(); }
    /// The statistics so far. From any thread.
    loop_statistics statistics() const noexcept;
    std::uint64_t turns() const noexcept { return turns_; }

private:
    struct posted_function;
    /// Makes a loop that is idle take a turn, to go on giving memory back.
    struct trim_turn final : deadline {
        explicit trim_turn(loop& l) noexcept : deadline(l) {}
        void expired() noexcept override {}
    };
    /// The message that `stop` posts; at most one is under way.
    struct stop_message final : detail::remote_runnable {
        explicit stop_message(loop& l) noexcept : owner(&l) {}
        void arrived() noexcept override;
        void dropped() noexcept override { under_way.store(false, std::memory_order_relaxed); }
        loop* owner;
        std::atomic<bool> under_way{false};
    };
    static constexpr unsigned largest_share = 64;
    static constexpr unsigned least_share = 16;
    static constexpr unsigned hand_overs = 256;
    static constexpr unsigned nested_starts_limit = 32;

    void read_wall_clock() noexcept;
    void enter();
    void leave();
    void turn();
    void adapt_share(duration turn_took) noexcept;
    // Each returns how much it ran.
    std::uint64_t run_ready() noexcept;
    void begin_spent() noexcept;
    std::uint64_t run_spent() noexcept;
    std::uint64_t run_handed() noexcept;
    std::uint64_t run_posted() noexcept;
    detail::remote_runnable* closed() const noexcept;
    static void drop(detail::remote_runnable* first) noexcept;
    void drop_posted() noexcept;
    void close_posted() noexcept;
    void end_residents() noexcept;
    time_point next_wake() const noexcept;
    bool over() const noexcept;
    void trim_when_idle() noexcept;

    std::unique_ptr<coracle::backend> backend_;
    const logger& log_;
    block_pool pool_;
    block_pool* outer_pool_ = nullptr;
    loop* outer_loop_ = nullptr;
    std::uintptr_t outer_floor_ = 0;
    time_point now_;
    std::int64_t unix_time_ = 0;
    time_point next_second_ = time_point::min();
    intrusive_list<detail::runnable> ready_;
    intrusive_list<detail::runnable> later_;
    intrusive_list<detail::runnable> handed_;
    intrusive_list<io_operation> completed_;
    // Tasks that had used up their share before this turn, and in it.
    bool any_spent_ = false;
    intrusive_list<detail::runnable> spent_;
    intrusive_list<detail::runnable> spent_in_this_turn_;
    intrusive_list<io_operation> completed_spent_;
    intrusive_list<io_operation> completed_spent_in_this_turn_;
    detail::timer_heap timers_;
    detail::deadline_wheel deadlines_;
    detail::context root_;
    intrusive_list<resident> residents_;
    std::uint64_t detached_ = 0;
    std::uint64_t services_ = 0;
    bool stops_services_ = false;
    const bool* done_ = nullptr;
    unsigned share_ = largest_share;  ///< operations of a task in one turn
    unsigned inline_budget_ = largest_share;
    unsigned nested_starts_ = 0;
    unsigned index_;
    time_point born_;
    time_point trimmed_;
    trim_turn trim_turn_{*this};
    thread_pool* offload_pool_ = nullptr;
    thread_pool* file_pool_ = nullptr;
    std::atomic<detail::remote_runnable*> posted_{nullptr};
    std::atomic<unsigned> posting_{0};
    stop_message stop_{*this};
    std::atomic<const char*> running_{"nothing yet"};
    tally turns_;
    tally tasks_;
    std::atomic<std::uint64_t> ran_in_turn_{0};
};

inline void deadline::arm_in(duration d) noexcept {
    arm(detail::later(owner_->now(), d));
}

}  // namespace coracle
