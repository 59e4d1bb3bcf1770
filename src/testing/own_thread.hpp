#pragma once

#include "runtime/blocked_signals.hpp"

#include <coracle/runtime/runtime.hpp>

#include <thread>
#include <utility>

namespace coracle::testing::detail {

/// Loops with threads of their own. `stop` asks their tasks to stop; the destructor does that too,
/// and waits until the threads have ended.
class own_thread {
public:
    explicit own_thread(unsigned loops = 1) : runtime_(options(loops)) {}
    ~own_thread() {
        runtime_.stop();
        join();
    }
    own_thread(const own_thread&) = delete;
    own_thread& operator=(const own_thread&) = delete;

    /// Before `start` it does not run: listeners are opened on it from the thread that made it.
    coracle::runtime& runtime() noexcept { return runtime_; }

    /// Runs `f(loop)`, which gives a task that throws nothing, on every loop to its end. Once.
    template <class F>
    void start(F f) {
        // Signals are for the test.
        const coracle::detail::blocked_signals on_the_threads;
        thread_ = std::thread([this, f = std::move(f)]() mutable { runtime_.run(std::move(f)); });
    }
    void join() {
        if (thread_.joinable()) thread_.join();
    }

private:
    static runtime_options options(unsigned loops) {
        runtime_options o;
        o.loops = loops;
        return o;
    }

    coracle::runtime runtime_;
    std::thread thread_;
};

}  // namespace coracle::testing::detail
