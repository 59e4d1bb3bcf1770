#pragma once

#include <coracle/runtime/cancel_source.hpp>

#include <memory>
#include <stop_token>

namespace coracle {

namespace detail {

template <class T, class F>
task<T> run_with_stop_token(std::stop_token token, F f) {
    const cancel_source source;
    const auto cancels = [&source]() noexcept { source.cancel(); };
    const std::stop_callback relay(std::move(token), cancels);
    if constexpr (awaitable<F>) {
        co_return co_await with_cancel(source, std::move(f));
    } else {
        const auto call = [&f] { return f(); };
        co_return co_await with_cancel(source, call);
    }
}

/// A child context on which no coroutine runs: it is notified when the task is cancelled.
class stop_relay final : waiter {
public:
    explicit stop_relay(context& of) : context_(of.owner(), &of) {
        context_.name = "task_stop_source";
        context_.wait_on(*this, of.owner().now());
        if (of.cancelled()) source_.request_stop();
    }
    const std::stop_source& source() const noexcept { return source_; }

private:
    void cancel() noexcept override { source_.request_stop(); }
    const char* waits_for() const noexcept override { return "cancellation"; }

    std::stop_source source_;
    context context_;
};

}  // namespace detail

/// `with_cancel` for a `std::stop_token`: awaits `f` until a stop is requested, which may happen on
/// any thread; then cancels it, and throws `std::errc::operation_canceled` once it has unwound.
/// Resumes where `f` ends, or from the loop. Cancelling it cancels `f`.
template <class F>
auto with_stop_token(std::stop_token token, F&& f) {
    CORACLE_REQUIRE_SAFE_IN_AWAIT(F);
    using Stored = std::decay_t<F>;
    using T = typename detail::limited_result<Stored>::type;
    return detail::run_with_stop_token<T, Stored>(std::move(token), std::forward<F>(f));
}

/// The cancellation of a task for code that knows `std::stop_token`: a stop is requested when the
/// task is cancelled. Made by a task, and destroyed by it:
///
///     task_stop_source stop = co_await task_stop_source::here();
///     std::jthread helper(work, stop.token());
///
/// Callbacks that are registered with the token run inside the call that cancels: they must not
/// throw, and must leave tasks alone.
class task_stop_source {
public:
    /// Returns one for the awaiting task. Never waits.
    struct here_operation : detail::current_context {
        task_stop_source await_resume() const { return task_stop_source(*found); }
    };
    static here_operation here() noexcept { return {}; }

    std::stop_token token() const noexcept { return relay_->source().get_token(); }

private:
    explicit task_stop_source(detail::context& of)
        : relay_(std::make_unique<detail::stop_relay>(of)) {}
    std::unique_ptr<detail::stop_relay> relay_;
};

}  // namespace coracle
