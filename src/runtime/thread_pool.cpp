#include "runtime/blocked_signals.hpp"
#include "runtime/core_set.hpp"
#include "runtime/this_threads_pool.hpp"

#include <coracle/runtime/thread_pool.hpp>

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace coracle {
namespace {

constinit thread_local const thread_pool* pool_of_thread = nullptr;

struct posted_job final : detail::pool_job {
    posted_job(unique_function<void()> work, std::atomic<std::size_t>& waiting) noexcept
        : f(std::move(work)), posted(&waiting) {}
    void execute() noexcept override {
        posted->fetch_sub(1, std::memory_order_relaxed);
        f();
        delete this;
    }
    void wake() noexcept override {}
    unique_function<void()> f;
    std::atomic<std::size_t>* posted;
};

}  // namespace

struct thread_pool::state {
    state(const thread_pool_options& o, const thread_pool& p) noexcept : options(o), pool(&p) {}

    const thread_pool_options options;
    const thread_pool* const pool;
    const detail::core_set cores;  ///< of the thread that made the pool
    std::mutex guard;
    std::condition_variable changed;
    intrusive_list<detail::pool_job> jobs;
    std::vector<std::thread> threads;
    std::size_t queued = 0;
    std::size_t idle = 0;
    bool ending = false;
    std::atomic<std::size_t> posted{0};

    void work() noexcept;
    bool add(detail::pool_job& job) noexcept;
    void start_thread() noexcept;
};

void thread_pool::state::work() noexcept {
    // The thread that starts another may be pinned, and would pin the new one too.
    cores.apply();
    pool_of_thread = pool;
    std::unique_lock lock(guard);
    for (;;) {
        ++idle;
        changed.wait(lock, [this] { return !jobs.empty() || ending; });
        --idle;
        detail::pool_job* job = jobs.pop_front();
        if (job == nullptr) return;
        --queued;
        lock.unlock();
        job->execute();
        lock.lock();
    }
}

void thread_pool::state::start_thread() noexcept {
    const detail::blocked_signals on_the_thread;
    try {
        threads.emplace_back([this] { work(); });
    } catch (const std::exception&) {
        return;  // the existing threads do it later
    }
}

bool thread_pool::state::add(detail::pool_job& job) noexcept {
    {
        const std::lock_guard lock(guard);
        // Woken threads may not have taken their job yet. At the end the remaining threads do the
        // rest, and are not counted any more.
        const bool may_start = !ending && threads.size() < options.threads;
        if (idle <= queued && may_start) start_thread();
        if (threads.empty()) return false;
        jobs.push_back(job);
        ++queued;
    }
    changed.notify_one();
    return true;
}

const thread_pool* detail::this_threads_pool() noexcept {
    return pool_of_thread;
}

thread_pool::thread_pool(const thread_pool_options& options)
    : state_(std::make_unique<state>(options, *this)) {}

thread_pool::~thread_pool() {
    {
        const std::lock_guard lock(state_->guard);
        state_->ending = true;
    }
    state_->changed.notify_all();
    for (std::thread& t : state_->threads) t.join();
}

bool thread_pool::try_post(unique_function<void()> f) {
    auto job = std::make_unique<posted_job>(std::move(f), state_->posted);
    const std::size_t before = state_->posted.fetch_add(1, std::memory_order_relaxed);
    if (before < state_->options.queue && submit(*job)) {
        static_cast<void>(job.release());
        return true;
    }
    state_->posted.fetch_sub(1, std::memory_order_relaxed);
    return false;
}

bool thread_pool::submit(detail::pool_job& job) noexcept {
    return state_->add(job);
}

bool thread_pool::withdraw(detail::pool_job& job) noexcept {
    const std::lock_guard lock(state_->guard);
    auto& hook = static_cast<list_hook&>(job);
    if (!hook.linked()) return false;
    hook.unlink();
    --state_->queued;
    return true;
}

std::size_t thread_pool::threads() const noexcept {
    const std::lock_guard lock(state_->guard);
    return state_->threads.size();
}

std::size_t thread_pool::queued() const noexcept {
    const std::lock_guard lock(state_->guard);
    return state_->queued;
}

}  // namespace coracle
