#pragma once

#include <coracle/base/unique_function.hpp>
#include <coracle/runtime/detail/remote_leaf.hpp>

#include <cstddef>
#include <memory>

namespace coracle {

namespace detail {

/// Work for a pool; owned by the waiter.
class pool_job : public remote_waiter {
public:
    /// Called once, on a thread of the pool, unless it was withdrawn before. After the call it may
    /// be gone.
    virtual void execute() noexcept = 0;

protected:
    pool_job() noexcept = default;
    pool_job(pool_job&&) noexcept = default;
    ~pool_job() = default;
};

}  // namespace detail

struct thread_pool_options {
    /// Threads at most. They are started as they are needed, and end with the pool. Default 16.
    unsigned threads = 16;
    /// Functions of `try_post` that may wait for a thread. Default 1,024.
    std::size_t queue = 1024;
};

/// Threads for work that blocks. Tasks use it by `offload`, which is its own bound: a task for
/// which no thread is free waits in order. Its threads run on the cores of the thread that made it.
/// May be used from any thread.
class thread_pool {
public:
    explicit thread_pool(const thread_pool_options& options = {});
    /// Does what was posted, and waits for it. No task may wait for it any more.
    ~thread_pool();
    thread_pool(const thread_pool&) = delete;
    thread_pool& operator=(const thread_pool&) = delete;

    /// Runs `f`, which must not throw, on a thread of the pool. False, and `f` is destroyed, when
    /// the queue is full or the pool's first thread cannot be started. Never waits.
    [[nodiscard]] bool try_post(unique_function<void()> f);

    /// Threads that there are, jobs that wait for one.
    std::size_t threads() const noexcept;
    std::size_t queued() const noexcept;

    /// Returns false if there is no thread and none can be started.
    [[nodiscard]] bool submit(detail::pool_job& job) noexcept;
    /// Takes back what has not begun.
    [[nodiscard]] bool withdraw(detail::pool_job& job) noexcept;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace coracle
