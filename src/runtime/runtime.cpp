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

/// The state that the threads of one `run` share.
struct runtime::loop_group {
    std::mutex guard;
    std::exception_ptr first;
    std::unique_ptr<detail::stall_watch> watch;

    void failed(std::exception_ptr e) {
        const std::lock_guard lock(guard);
        if (first == nullptr) first = std::move(e);
    }
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
    for (auto& l : loops_) l->stop();
}

void runtime::run_loop(std::size_t index, unique_function<task<>(loop&)>& f, loop_group& all) {
    if (all.watch != nullptr) all.watch->runs_here(index);
    // The first loop uses the caller's thread, which continues after `run`.
    std::optional<detail::core_pin> pin;
    if (options_.pin) pin.emplace(cores_[index % cores_.size()]);
    loop& l = *loops_[index];
    bool done = false;
    detail::blocking_child<void> main(done);
    main.begin_on(l, f(l), "main");
    l.run_until(done);
    if (auto e = main.exception()) {
        all.failed(e);
        // One loop's failure must not leave the others running for ever.
        stop();
    }
}

/// Runs a loop on a thread of its own, which no exception may leave.
void runtime::run_beside(std::size_t index, unique_function<task<>(loop&)>& f,
                         loop_group& all) noexcept {
    try {
        run_loop(index, f, all);
    } catch (...) {
        all.failed(std::current_exception());
        stop();
    }
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
    loop_group all;
    watch_for_stalls(all);
    // Before any of them runs: one may post to another whose thread has not begun.
    for (auto& l : loops_) l->reset();
    std::vector<std::thread> threads;
    try {
        for (std::size_t i = 1; i < loops_.size(); ++i) {
            threads.emplace_back([this, i, &f, &all] { run_beside(i, f, all); });
        }
        run_loop(0, f, all);
    } catch (...) {
        // All loops or none.
        all.failed(std::current_exception());
        stop();
    }
    for (auto& t : threads) t.join();
    // A loop that never ran also refuses posts, and drops the stop.
    for (auto& l : loops_) {
        if (!l->has_ended()) l->end_turns();
    }
    if (all.first != nullptr) std::rethrow_exception(all.first);
}

}  // namespace coracle
