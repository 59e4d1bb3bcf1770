#pragma once

#include <coracle/runtime/runtime.hpp>

#include <thread>
#include <utility>

namespace coracle::testing::detail {

/// A loop with a thread of its own. `stop` asks its tasks to stop; the destructor does that too,
/// and waits until the thread has ended.
class own_thread {
public:
    own_thread() : runtime_(options()) {}
    ~own_thread() {
        runtime_.stop();
        join();
    }
    own_thread(const own_thread&) = delete;
    own_thread& operator=(const own_thread&) = delete;

    /// Before `start` it does not run: listeners are opened on it from the thread that made it.
    coracle::loop& loop() noexcept { return runtime_.at(0); }

    /// Runs `f()`, which gives a task that throws nothing, to its end. Once.
    template <class F>
    void start(F f) {
        thread_ = std::thread([this, f = std::move(f)]() mutable {
            runtime_.run([&f](coracle::loop&) -> task<> { co_await f(); });
        });
    }
    void stop() { runtime_.stop(); }
    void join() {
        if (thread_.joinable()) thread_.join();
    }

private:
    static runtime_options options() {
        runtime_options o;
        o.loops = 1;
        return o;
    }

    runtime runtime_;
    std::thread thread_;
};

}  // namespace coracle::testing::detail
