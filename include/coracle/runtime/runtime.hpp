#pragma once

#include <coracle/runtime/spawn.hpp>

#include <memory>
#include <string>
#include <vector>

namespace coracle {

struct runtime_options {
    /// Event loops, each on a thread of its own. Default 0: one for each core that this process may
    /// use.
    unsigned loops = 0;
    /// Pins loop n to the n-th of these cores, as they were when the runtime was made, while it
    /// runs; not the threads of `offload`. Default: not pinned.
    bool pin = false;
    /// Default: the best one that works here.
    backend_kind backend = backend_kind::automatic;
    /// A loop that one task holds for longer is reported, by a log line (layer runtime, warning)
    /// that names the task and says whether it computes or is blocked, and counted. 0: what the
    /// environment variable CORACLE_STALL_LIMIT says, in milliseconds, and then also on standard
    /// error where the log does not take warnings; without it, not watched. Default 0; it costs a
    /// thread.
    duration stall_limit{};
    /// The logger for the library's messages; must outlive the runtime. Default: a `logger` of its
    /// own, which writes warnings and errors, or what CORACLE_LOG says, to standard error.
    logger* log = nullptr;
    /// Threads at most of the pool that `offload` uses, started as they are needed; 0: the loops do
    /// that work themselves. Default 16.
    unsigned offload_threads = 16;
    /// The most threads in the pool for the library's own work on files: looking up and reading
    /// files to serve, and calls of `fs` that the backend does not make. They do not wait behind
    /// the work of `offload`. 0, or no threads for `offload`: both share. Started as they are
    /// needed. Default 8.
    unsigned file_threads = 8;
    /// Functions posted to the pool of `offload` that may wait for a thread. Default 1,024.
    std::size_t offload_queue = 1024;
};

/// Several event loops that share nothing. `run`, `stop` and what says so apart, it may be used
/// from one thread.
class runtime {
public:
    /// Opens the backends; throws `exception` when none works.
    explicit runtime(const runtime_options& options = {});
    ~runtime();
    runtime(const runtime&) = delete;
    runtime& operator=(const runtime&) = delete;

    std::size_t loops() const noexcept { return loops_.size(); }
    loop& at(std::size_t index) noexcept { return *loops_[index]; }
    const logger& log() const noexcept { return *log_; }
    /// Times that a loop was held for longer than `stall_limit`. From any thread.
    std::uint64_t stalls() const noexcept { return stalls_; }
    /// The pool that `offload` uses on these loops, or null.
    thread_pool* offload_pool() noexcept { return pool_.get(); }

    /// Runs `f(loop)`, which gives a task, once on every loop; the first loop runs on the calling
    /// thread. Returns when all have ended and every other task has been stopped; throws the first
    /// exception that left one of them. May be called again; between two runs the loops refuse what
    /// is posted, while what was posted before the first waits for it.
    template <class F>
    void run(F f) {
        run_erased([&f](loop& l) -> task<> { co_await f(l); });
    }

    /// Asks all tasks on all loops to stop, which ends `run`; before the first run, that one. After
    /// a run it does nothing. From any thread.
    void stop();

private:
    struct loop_group;
    void run_erased(unique_function<task<>(loop&)> f);
    void watch_for_stalls(loop_group& all);
    void run_loop(std::size_t index, unique_function<task<>(loop&)>& f, loop_group& all);
    void run_beside(std::size_t index, unique_function<task<>(loop&)>& f, loop_group& all) noexcept;

    runtime_options options_;
    std::unique_ptr<logger> own_log_;  ///< where the options name none
    logger* log_;
    std::vector<std::unique_ptr<loop>> loops_;
    tally stalls_;
    std::unique_ptr<thread_pool> pool_;
    std::unique_ptr<thread_pool> file_pool_;
    std::vector<int> cores_;
};

namespace detail {

template <class T>
class blocking_child final : public child<T>, remote_runnable {
public:
    explicit blocking_child(bool& done) noexcept : done_(&done) {}

    /// Begins `work` in the next turn of `l`.
    void begin_on(loop& l, task<T> work, const char* name) noexcept {
        loop_ = &l;
        work_ = std::move(work);
        name_ = name;
        l.post(static_cast<remote_runnable&>(*this));
    }

private:
    void arrived() noexcept override {
        this->begin(std::move(work_), *loop_, &loop_->root(), name_).resume();
    }
    void dropped() noexcept override {}
    std::coroutine_handle<> ended() noexcept override {
        *done_ = true;
        return std::noop_coroutine();
    }
    bool* done_;
    loop* loop_ = nullptr;
    const char* name_ = "";
    task<T> work_;
};

template <class F>
auto block_on_result_of(F& f, const runtime_options& options) {
    using T = await_result<std::invoke_result_t<F&>>;
    runtime_options single = options;
    single.loops = 1;
    runtime rt(single);
    loop& l = rt.at(0);
    bool done = false;
    blocking_child<T> main(done);
    main.begin_on(l, call_in_task(f), "block_on");
    l.run_until(done);
    return value_of<T>(main, "block_on");
}

}  // namespace detail

/// Runs `f()`, which gives a task or an operation, on a loop of its own in this thread, and gives
/// what it gives. Tasks that it spawned are stopped when it has ended.
template <class F>
auto block_on(F f, const runtime_options& options = {}) {
    if constexpr (detail::coroutine_source<F>) {
        return detail::block_on_result_of(f, options);
    } else {
        static_assert(!detail::awaitable<F>,
                      "block_on takes a callable that makes the task, not the task itself: "
                      "block_on([&] { return f(3); })");
        static_assert(detail::awaitable<F>,
                      "block_on takes a callable without parameters that returns a task or an "
                      "operation: block_on([]() -> task<> { ... })");
    }
}

}  // namespace coracle
