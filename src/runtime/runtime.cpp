#include "runtime/core_set.hpp"
#include "runtime/stall_watch.hpp"

#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/thread_pool.hpp>

#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

namespace coracle {
namespace {

/// Held while the loops of a runtime begin anew, and while they are told to stop: a stop between
/// two of them would be for some only.
constinit std::mutex beginning;

}  // namespace

/// The state that the threads of one `run` share.
struct runtime::loop_group {
    class main;

    explicit loop_group(runtime& all) : all_(&all), ends_(all.loops()), mains_(all.loops()) {}

    /// Set when the main tasks of all loops have ended. Until then each loop goes on: others send
    /// work to it, and what was spawned on it may serve all.
    const bool& over(std::size_t index) const noexcept { return ends_[index].here; }

    void main_ended() noexcept {
        if (mains_.fetch_sub(1) != 1) return;
        for (std::size_t i = 0; i != ends_.size(); ++i) all_->at(i).post(ends_[i]);
    }
    /// One loop's failure must not leave the others running for ever.
    void failed(std::exception_ptr e) noexcept {
        {
            const std::lock_guard lock(guard_);
            if (first_ == nullptr) first_ = std::move(e);
        }
        all_->stop();
    }
    const std::exception_ptr& first_failure() const noexcept { return first_; }

    std::unique_ptr<detail::stall_watch> watch;

private:
    struct end final : detail::remote_runnable {
        void arrived() noexcept override { here = true; }
        void dropped() noexcept override {}
        bool here = false;
    };

    runtime* all_;
    std::vector<end> ends_;
    std::atomic<std::size_t> mains_;  ///< that have not ended
    std::mutex guard_;
    std::exception_ptr first_;
};

/// The task that `run` begins on a loop. One that is never begun has ended too.
class runtime::loop_group::main final : public detail::child<void>, detail::remote_runnable {
public:
    main(loop& l, loop_group& all) noexcept : loop_(&l), all_(&all) {}
    ~main() {
        if (!ended_) all_->main_ended();
    }
    /// Begins `work` in the next turn.
    void begin_soon(task<> work) noexcept {
        work_ = std::move(work);
        loop_->post(static_cast<remote_runnable&>(*this));
    }

private:
    void arrived() noexcept override {
        this->begin(std::move(work_), *loop_, &loop_->root(), "main").resume();
    }
    void dropped() noexcept override {}
    std::coroutine_handle<> ended() noexcept override {
        if (auto e = exception()) all_->failed(e);
        ended_ = true;
        all_->main_ended();
        return std::noop_coroutine();
    }
    loop* loop_;
    loop_group* all_;
    task<> work_;
    bool ended_ = false;
};

runtime::runtime(const runtime_options& options)
    : options_(options), own_log_(options.log == nullptr ? std::make_unique<logger>() : nullptr),
      log_(options.log != nullptr ? options.log : own_log_.get()),
      cores_(detail::core_set().numbers()) {
    if (options.offload_threads != 0) {
        pool_ = std::make_unique<thread_pool>(
            thread_pool_options{options.offload_threads, options.offload_queue});
    }
    if (options.offload_threads != 0 && options.file_threads != 0) {
        file_pool_ = std::make_unique<thread_pool>(thread_pool_options{options.file_threads, 0});
    }
    const std::size_t count = options.loops != 0 ? options.loops : cores_.size();
    for (std::size_t i = 0; i != count; ++i) {
        auto b = make_backend(options.backend);
        if (!b) throw_exception(std::move(b).error());
        loops_.push_back(std::make_unique<loop>(std::move(*b), *log_, static_cast<unsigned>(i)));
        loops_.back()->offload_to(pool_.get(), file_pool_.get());
    }
}

runtime::~runtime() = default;

void runtime::stop() {
    const std::lock_guard all_or_none(beginning);
    for (auto& l : loops_) l->stop();
}

void runtime::run_loop(std::size_t index, unique_function<task<>(loop&)>& f, loop_group& all) {
    loop& l = *loops_[index];
    loop_group::main main(l, all);
    if (all.watch != nullptr) all.watch->runs_here(index);
    // The first loop uses the caller's thread, which continues after `run`.
    std::optional<detail::core_pin> pin;
    if (options_.pin) pin.emplace(cores_[index % cores_.size()]);
    main.begin_soon(f(l));
    l.run_until(all.over(index));
}

/// Runs a loop; an exception that leaves it ends all. Tasks of other loops that wait for a reply to
/// what they posted get one also where this loop never ran.
void runtime::run_beside(std::size_t index, unique_function<task<>(loop&)>& f,
                         loop_group& all) noexcept {
    try {
        run_loop(index, f, all);
    } catch (...) {
        all.failed(std::current_exception());
    }
    if (!loops_[index]->has_ended()) loops_[index]->end_turns();
}

void runtime::watch_for_stalls(loop_group& all) {
    const bool asked = options_.stall_limit > duration::zero();
    const duration limit = asked ? options_.stall_limit : detail::stall_limit_of_environment();
    if (limit <= duration::zero()) return;
    std::vector<const loop*> watched;
    watched.reserve(loops_.size());
    for (const auto& l : loops_) watched.push_back(l.get());
    all.watch = std::make_unique<detail::stall_watch>(watched, limit, *log_, !asked, stalls_);
}

void runtime::run_erased(unique_function<task<>(loop&)> f) {
    loop_group all(*this);
    watch_for_stalls(all);
    // Before any of them runs: one may post to another whose thread has not begun.
    {
        const std::lock_guard all_or_none(beginning);
        for (auto& l : loops_) l->reset();
    }
    std::vector<std::thread> threads;
    bool all_have_threads = false;
    try {
        for (std::size_t i = 1; i < loops_.size(); ++i) {
            threads.emplace_back([this, i, &f, &all] { run_beside(i, f, all); });
        }
        all_have_threads = true;
    } catch (...) {
        // All loops or none. Those without a thread refuse posts, and drop what they have got: a
        // loop that runs may wait for it.
        all.failed(std::current_exception());
        for (std::size_t i = 0; i < loops_.size(); ++i) {
            const bool has_thread = i != 0 && i <= threads.size();
            if (has_thread) continue;
            all.main_ended();
            loops_[i]->end_turns();
        }
    }
    if (all_have_threads) run_beside(0, f, all);
    for (auto& t : threads) t.join();
    if (all.first_failure() != nullptr) std::rethrow_exception(all.first_failure());
}

}  // namespace coracle
