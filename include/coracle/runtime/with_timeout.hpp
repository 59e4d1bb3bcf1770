#pragma once

#include <coracle/runtime/child.hpp>

namespace coracle {

namespace detail {

/// Runs one task in a context of its own that a timer cancels.
template <class T, class F>
class [[nodiscard]] limited_operation final : public joint, child<T>, timer {
public:
    limited_operation(duration limit, F f, bool inherits)
        : f_(std::move(f)), limit_(limit), inherits_(inherits) {}
    limited_operation(limited_operation&&) noexcept = default;

    bool await_ready() const noexcept { return false; }

    template <task_promise P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        this->joins(h);
        loop& l = this->owner();
        // Before the timer is armed: when `f` throws, this object is gone at once.
        task<T> work = make();
        l.arm(*this, coracle::detail::later(l.now(), limit_));
        return this->begin(std::move(work), l, inherits_ ? &this->parent() : nullptr,
                           inherits_ ? "with_timeout" : "shielded");
    }

    T await_resume() {
        if (this->was_stopped() && expired_) throw_exception(timeout());
        return value_of<T>(*this, "with_timeout");
    }

    std::expected<T, error> outcome() {
        if (this->was_stopped() && expired_) return std::unexpected(timeout());
        return outcome_of<T>(*this, "with_timeout");
    }

private:
    static error timeout() noexcept { return {std::errc::timed_out, "with_timeout"}; }

    task<T> make() {
        if constexpr (awaitable<F>) {
            return to_task(std::move(f_));
        } else {
            return to_task(f_());
        }
    }

    void expired() noexcept override {
        // Whoever cancelled it before, an outer limit say, has been told nothing of this one.
        if (this->own_context().cancelled()) return;
        expired_ = true;
        this->cancel();
    }

    std::coroutine_handle<> ended() noexcept override {
        this->owner().disarm(*this);
        // An outer cancellation goes before this limit; a shield gives its awaiter the limit even
        // so.
        return this->finish(this->was_stopped() && (inherits_ || !expired_));
    }

    F f_;
    duration limit_;
    bool inherits_;
    bool expired_ = false;
};

template <class F>
struct limited_result {
    using type = await_result<std::invoke_result_t<F&>>;
};
template <awaitable F>
struct limited_result<F> {
    using type = await_result<F>;
};

template <class F>
using limited = limited_operation<typename limited_result<std::decay_t<F>>::type, std::decay_t<F>>;

}  // namespace detail

/// Awaits `f`, an operation, a task, or a callable that gives one (owned until it has ended), for
/// at most `limit`. Then it is cancelled, and once it has unwound `std::errc::timed_out` is thrown.
/// Resumes from the loop. Cancelling it cancels `f`.
template <class F>
detail::limited<F> with_timeout(duration limit, F&& f) {
    CORACLE_REQUIRE_SAFE_IN_AWAIT(F);
    return {limit, std::forward<F>(f), true};
}

/// Awaits `f` even when the surrounding task has been cancelled, for at most `limit`: for clean-up
/// that has to wait. After `limit` it is cancelled and `std::errc::timed_out` is thrown.
template <class F>
detail::limited<F> shielded(duration limit, F&& f) {
    CORACLE_REQUIRE_SAFE_IN_AWAIT(F);
    return {limit, std::forward<F>(f), false};
}

}  // namespace coracle
