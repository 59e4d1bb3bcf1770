#include "base/exception_text.hpp"
#include "runtime/blocked_signals.hpp"
#include "runtime/century.hpp"
#include "runtime/this_threads_pool.hpp"

#include <coracle/runtime/background.hpp>
#include <coracle/runtime/detail/thread_event.hpp>
#include <coracle/runtime/sleep.hpp>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace coracle {
namespace {

runtime_options runtime_of(const background_options& o) {
    runtime_options r;
    r.loops = o.loops != 0 ? o.loops : 1;
    r.backend = o.backend;
    r.log = o.log;
    return r;
}

}  // namespace

class background::core final : public detail::call_keeper {
public:
    explicit core(const background_options& o)
        : options_(o), callbacks_({o.callback_threads != 0 ? o.callback_threads : 1, 0}),
          runtime_(runtime_of(o)), waiting_(runtime_.loops()) {
        {
            // A program may wait for signals on a thread that it starts later, such as a server's.
            const detail::blocked_signals on_the_threads;
            thread_ = std::thread([this] { run(); });
        }
        begun_.wait();
        if (failure_ == nullptr) return;
        thread_.join();
        std::rethrow_exception(failure_);
    }

    const background_options& options() const noexcept { return options_; }
    loop& begin();
    void begun(bool posted) noexcept {
        starting_.fetch_sub(1);
        if (!posted) call_ended();
    }
    bool stop(duration limit);
    /// Returns true on a thread of its loops or its callbacks.
    bool is_own_thread() noexcept;
    void left_running() noexcept;

    void waits(detail::runnable& r, loop& home) noexcept override {
        waiting_[home.index()].push_back(r);
    }
    bool call_back(detail::pool_job& job) noexcept override { return callbacks_.submit(job); }
    void callback_failed() noexcept override;
    void call_ended() noexcept override;

    std::size_t active() const noexcept { return active_.load(std::memory_order_relaxed); }
    std::size_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }
    std::uint64_t failed() const noexcept { return failed_.load(std::memory_order_relaxed); }

private:
    void run() noexcept;

    const background_options options_;
    // Outlives the loops: callbacks are called also for work that a loop drops when it ends.
    thread_pool callbacks_;
    runtime runtime_;
    std::vector<intrusive_list<detail::runnable>> waiting_;  ///< by loop
    std::thread thread_;
    detail::thread_event begun_;  ///< all loops run, or `failure_` has the reason
    std::exception_ptr failure_;
    std::atomic<std::size_t> running_{0};

    std::atomic<std::size_t> active_{0};
    std::atomic<std::size_t> peak_{0};
    std::atomic<std::size_t> starting_{0};
    std::atomic<unsigned> next_{0};
    std::atomic<std::uint64_t> failed_{0};
    std::atomic<bool> stopping_{false};

    std::mutex guard_;
    std::condition_variable idle_;
    bool stopped_ = false;
};

void background::core::run() noexcept {
    const auto hold = [this](loop& l) -> task<> {
        if (running_.fetch_add(1) + 1 == runtime_.loops()) begun_.set();
        auto stopped = forever();
        static_cast<void>(co_await as_result(stopped));
        while (detail::runnable* r = waiting_[l.index()].pop_front()) l.enqueue(*r);
    };
    try {
        runtime_.run(hold);
    } catch (...) {
        failure_ = std::current_exception();
        begun_.set();
    }
}

loop& background::core::begin() {
    // Sequentially consistent here and in `stop`: either the call sees the stop, or `stop` sees the
    // call.
    starting_.fetch_add(1);
    const std::size_t now = active_.fetch_add(1) + 1;
    const bool late = stopping_.load();
    if (late || now > options_.active) {
        begun(false);
        if (late) throw_exception(error(errc::shutting_down, "background"));
        throw_exception(error(errc::limit_exceeded, "background").on("background_options::active"));
    }
    std::size_t most = peak_.load(std::memory_order_relaxed);
    while (most < now && !peak_.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
    }
    return runtime_.at(next_.fetch_add(1, std::memory_order_relaxed) % runtime_.loops());
}

void background::core::callback_failed() noexcept {
    failed_.fetch_add(1, std::memory_order_relaxed);
    try {
        runtime_.log().write(log_layer::runtime, log_level::error,
                             "a callback ended by an exception: " +
                                 detail::describe_exception(std::current_exception()));
    } catch (...) {
        runtime_.log().write(log_layer::runtime, log_level::error, "a callback threw an exception");
    }
}

void background::core::call_ended() noexcept {
    // Under the lock, or `stop` could be over, and this gone, before its waiter is notified.
    const std::lock_guard lock(guard_);
    if (active_.fetch_sub(1) == 1) idle_.notify_all();
}

bool background::core::is_own_thread() noexcept {
    const loop* const here = loop::current();
    const std::size_t index = here == nullptr ? 0 : here->index();
    if (here != nullptr && index < runtime_.loops() && &runtime_.at(index) == here) return true;
    const thread_pool* const pool = detail::this_threads_pool();
    return pool != nullptr && (pool == &callbacks_ || pool == runtime_.offload_pool() ||
                               pool == runtime_.at(0).file_pool());
}

void background::core::left_running() noexcept {
    runtime_.log().write(
        log_layer::runtime, log_level::error,
        "a background is destroyed on a thread of its own, and goes on without it");
}

bool background::core::stop(duration limit) {
    stopping_.store(true);
    // It would wait for itself.
    if (is_own_thread()) return false;
    std::unique_lock lock(guard_);
    if (std::exchange(stopped_, true)) return false;
    const auto none = [this] { return active_.load() == 0; };
    const bool in_time = idle_.wait_for(lock, std::min(limit, coracle::detail::century), none);
    lock.unlock();
    // A call that is being posted must find its loop running, or be dropped by it.
    while (starting_.load() != 0) std::this_thread::yield();
    runtime_.stop();
    thread_.join();
    lock.lock();
    idle_.wait(lock, none);
    return !in_time;
}

background::background(const background_options& options)
    : core_(std::make_unique<core>(options)) {}

background::~background() {
    static_cast<void>(stop(core_->options().drain));
    if (!core_->is_own_thread()) return;
    // As where a callback calls std::exit, and this has static lifetime. Its threads use the core.
    core_->left_running();
    static_cast<void>(core_.release());
}

detail::call_keeper& background::keeper() noexcept {
    return *core_;
}
loop& background::call_begins() {
    return core_->begin();
}
void background::call_begun(bool posted) noexcept {
    core_->begun(posted);
}

bool background::stop(duration limit) {
    return core_->stop(limit);
}
std::size_t background::active() const noexcept {
    return core_->active();
}
std::size_t background::peak() const noexcept {
    return core_->peak();
}
std::uint64_t background::failed_callbacks() const noexcept {
    return core_->failed();
}

namespace detail {

error error_of(const std::exception_ptr& thrown) noexcept {
    error unknown(std::errc::state_not_recoverable, "background");
    try {
        std::rethrow_exception(thrown);
    } catch (const exception& e) {
        return e.error();
    } catch (const std::exception& e) {
        try {
            unknown.on(e.what());
        } catch (const std::exception&) {
            return unknown;  // without memory for the text the code alone is reported
        }
    } catch (...) {
        return unknown;  // it has no text
    }
    return unknown;
}

}  // namespace detail

}  // namespace coracle
