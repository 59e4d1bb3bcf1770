#pragma once

#include <coracle/runtime/detail/child.hpp>

#include <atomic>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle {

namespace detail {

/// The part of `on` that does not depend on types: it lives on its home loop, sends messages to the
/// remote loop, and completes when every message has come back.
class remote_call {
public:
    remote_call(const remote_call&) = delete;
    remote_call& operator=(const remote_call&) = delete;

protected:
    explicit remote_call(loop& away) noexcept : start_(*this), cancel_(*this), away_(&away) {}
    remote_call(remote_call&& other) noexcept : remote_call(*other.away_) {}
    ~remote_call() = default;

    loop& away() const noexcept { return *away_; }
    void send_start(loop& home) noexcept;
    void send_cancel() noexcept;
    bool cancel_was_sent() const noexcept { return cancelled_.load(std::memory_order_relaxed); }
    /// Called on the other loop when the work has ended. Home may destroy all of this from then on.
    void work_is_done() noexcept { start_.come_back(); }

private:
    class message final : public remote_runnable {
    public:
        explicit message(remote_call& e) noexcept : call_(&e) {}
        void go(loop& away) noexcept {
            if (!away.post(*this)) come_back();
        }
        void come_back() noexcept;

    private:
        void arrived() noexcept override;
        // The other loop ended before it read the message.
        void dropped() noexcept override { come_back(); }
        remote_call* call_;
        bool returns_ = false;
    };

    /// Starts the work on the other loop; `work_is_done` follows.
    virtual void start_away() noexcept = 0;
    virtual void cancel_away() noexcept = 0;
    /// Called at home when no message is away any more.
    virtual void all_back() noexcept = 0;

    message start_;
    message cancel_;
    loop* away_;
    loop* home_ = nullptr;
    unsigned under_way_ = 0;
    std::atomic<bool> cancelled_{false};
};

/// The awaitable returned by `on`.
template <class T, class F>
class [[nodiscard]] on_operation final : public leaf<on_operation<T, F>, T>, remote_call {
public:
    static constexpr const char* name = "on";

    on_operation(loop& there, F f) : remote_call(there), f_(std::move(f)), work_(*this) {}
    // Each base moves only its own part.
    // NOLINTBEGIN(bugprone-use-after-move)
    on_operation(on_operation&& other) noexcept(std::is_nothrow_move_constructible_v<F>)
        : leaf<on_operation, T>(std::move(other)), remote_call(std::move(other)),
          f_(std::move(other.f_)), work_(*this) {}
    // NOLINTEND(bugprone-use-after-move)

    template <task_promise P>
    bool await_suspend(std::coroutine_handle<P> h) {
        limit_ = time_limit_of(h.promise());
        return leaf<on_operation, T>::await_suspend(h);
    }
    bool start() noexcept {
        this->send_start(this->owner());
        return false;
    }
    void cancel() noexcept override { this->send_cancel(); }

    std::expected<T, error> result() {
        if (thrown_ != nullptr) std::rethrow_exception(thrown_);
        if (!result_.has_value()) return std::unexpected(error(errc::shutting_down, name));
        return *std::move(result_);
    }

private:
    /// The task away.
    class work final : public child<T>, public runnable {
    public:
        explicit work(on_operation& o) noexcept : operation_(&o) {}
        void start() noexcept {
            loop& l = operation_->away();
            task<T> made;
            try {
                made = call();
            } catch (...) {  // no memory for its frame
                operation_->thrown_ = std::current_exception();
                operation_->work_is_done();
                return;
            }
            l.detached_started();
            this->begin(std::move(made), l, &l.root(), name).resume();
        }

    private:
        task<T> call() { co_return co_await operation_->f_(); }
        std::coroutine_handle<> ended() noexcept override {
            // The frame stands at its final suspend point: it is destroyed later, but here.
            operation_->away().enqueue(*this);
            return std::noop_coroutine();
        }
        void run() noexcept override {
            operation_->keep_outcome();
            this->destroy();
            operation_->away().detached_ended();
            operation_->work_is_done();
        }
        limit_step time_limit() const noexcept override { return {.due = operation_->limit_}; }

        on_operation* operation_;
    };

    void start_away() noexcept override { work_.start(); }
    void cancel_away() noexcept override { work_.cancel(); }
    void all_back() noexcept override {
        if (this->cancel_was_sent() && thrown_ == nullptr && !result_.has_value()) {
            this->mark_cancelled();
        }
        this->complete();
    }

    void keep_outcome() noexcept {
        if (work_.was_stopped()) return;
        try {
            result_.emplace(outcome_of<T>(work_, name));
        } catch (...) {
            thrown_ = std::current_exception();
        }
    }

    F f_;
    time_point limit_;
    std::optional<std::expected<T, error>> result_;
    std::exception_ptr thrown_;
    work work_;
};

}  // namespace detail

/// Runs `f()`, which gives a task or an operation, on the loop `there`: `f` is called there, the
/// frames are made and destroyed there, and what it gives or throws comes here. `f` is owned until
/// then, and destroyed here. Completes when the task has ended; resumes on its own loop.
///
/// Cancelling it cancels the task there and waits until it has unwound. When `there` stops first,
/// or had ended before, it fails with `errc::shutting_down`. `there` must live until it completes.
/// The deadlines around it count inside too.
template <class F>
    requires std::is_invocable_v<std::decay_t<F>&> &&
             detail::awaitable<std::invoke_result_t<std::decay_t<F>&>>
auto on(loop& there, F&& f) {
    CORACLE_REQUIRE_SAFE_IN_AWAIT(F);
    using Stored = std::decay_t<F>;
    using T = detail::await_result<std::invoke_result_t<Stored&>>;
    return detail::on_operation<T, Stored>(there, std::forward<F>(f));
}

}  // namespace coracle
