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
    /// error where nobody listens to the log; without it, not watched. Default 0; it costs a
    /// thread.
    duration stall_limit{};
    /// Who hears what the library logs. Default: nobody.
    logger* log = nullptr;
    /// Threads at most of the pool that `offload` uses, started as they are needed; 0: the loops do
    /// that work themselves. Default 16.
    unsigned offload_threads = 16;
    /// Functions posted to that pool that may wait for a thread. Default 1,024.
    std::size_t offload_queue = 1024;
};

/// Several event loops that share nothing. `run` and `stop` apart, it may be used from one thread.
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
    struct party;
    void run_erased(unique_function<task<>(loop&)> f);
    void watch_for_stalls(party& all);
    void run_loop(std::size_t index, unique_function<task<>(loop&)>& f, party& all);

    runtime_options options_;
    std::unique_ptr<logger> silent_;
    logger* log_;
    std::vector<std::unique_ptr<loop>> loops_;
    tally stalls_;
    std::unique_ptr<thread_pool> pool_;
    std::vector<int> cores_;
};

namespace detail {

template <class T>
class blocking_child final : public child<T> {
public:
    explicit blocking_child(bool& done) noexcept : done_(&done) {}

private:
    std::coroutine_handle<> ended() noexcept override {
        *done_ = true;
        return std::noop_coroutine();
    }
    bool* done_;
};

}  // namespace detail

/// Runs `f()`, which gives a task or an operation, on a loop of its own in this thread, and gives
/// what it gives. Tasks that it spawned are stopped when it has ended.
template <class F>
auto block_on(F f, const runtime_options& options = {}) {
    using T = detail::await_result<std::invoke_result_t<F&>>;
    runtime_options single = options;
    single.loops = 1;
    runtime rt(single);
    loop& l = rt.at(0);
    bool done = false;
    detail::blocking_child<T> main(done);
    l.post([&] { main.begin(detail::call_in_task(f), l, &l.root(), "block_on").resume(); });
    l.run_until(done);
    return detail::value_of<T>(main, "block_on");
}

}  // namespace coracle
