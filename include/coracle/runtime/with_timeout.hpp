#pragma once

#include <coracle/runtime/detail/child.hpp>

namespace coracle {

namespace detail {

/// The kind of limit that a `limited_operation` sets.
enum class limit_kind : unsigned char { timeout, deadline, shield };

constexpr const char* name_of(limit_kind k) noexcept {
    switch (k) {
        case limit_kind::deadline: return "with_deadline";
        case limit_kind::shield: return "shielded";
        case limit_kind::timeout: break;
    }
    return "with_timeout";
}

template <class T>
constexpr bool gives_expected = false;
template <class T>
constexpr bool gives_expected<std::expected<T, error>> = true;

template <class T>
bool says_cancelled(const std::expected<T, error>& result) noexcept {
    return !result && is_cancellation(result.error());
}

/// Runs one task in a context of its own that a timer cancels.
template <class T, class F>
class [[nodiscard]] limited_operation final : public joint, child<T>, timer {
public:
    limited_operation(duration limit, F f, limit_kind kind)
        : f_(std::move(f)), limit_(limit), kind_(kind) {}
    limited_operation(time_point due, F f)
        : f_(std::move(f)), limit_(due.time_since_epoch()), kind_(limit_kind::deadline) {}
    limited_operation(limited_operation&&) noexcept = default;

    bool await_ready() const noexcept { return false; }

    template <task_promise P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        this->joins(h);
        loop& l = this->owner();
        // Before the timer is armed: when `f` throws, this object is gone at once.
        task<T> work = make();
        if (kind_ != limit_kind::deadline) {
            limit_ = coracle::detail::later(l.now(), limit_).time_since_epoch();
        }
        if (due() != time_point::max()) l.arm(*this, due());
        return this->begin(std::move(work), l, inherits() ? &this->parent() : nullptr,
                           name_of(kind_));
    }

    T await_resume() {
        if (expired_) return late();
        return value_of<T>(*this, name_of(kind_));
    }

    std::expected<T, error> outcome() {
        auto result = outcome_of<T>(*this, name_of(kind_));
        bool timed_out = expired_ && says_cancelled(result);
        if constexpr (gives_expected<T>) {
            timed_out = timed_out || (expired_ && result && says_cancelled(*result));
        }
        if (timed_out) return std::unexpected(timeout());
        return result;
    }

private:
    /// The result behind the limit: the cancellation is its doing, however it is reported.
    T late() {
        std::expected<T, error> result = outcome();
        if (!result) throw_exception(std::move(result).error());
        if constexpr (!std::is_void_v<T>) return *std::move(result);
    }
    error timeout() const noexcept { return {std::errc::timed_out, name_of(kind_)}; }
    bool inherits() const noexcept { return kind_ != limit_kind::shield; }
    /// The due time, once it is awaited.
    time_point due() const noexcept { return time_point(limit_); }

    task<T> make() {
        if constexpr (awaitable<F>) {
            return to_task(std::move(f_));
        } else {
            return to_task(f_());
        }
    }

    void expired() noexcept override {
        // A cancellation that came before, from an outer limit say, is not this one's doing.
        if (this->own_context().cancelled()) return;
        expired_ = true;
        this->cancel();
    }

    std::coroutine_handle<> ended() noexcept override {
        this->owner().disarm(*this);
        // An outer cancellation goes before this limit; a shield gives its awaiter the limit even
        // so.
        return this->finish(this->was_stopped() && (inherits() || !expired_));
    }

    limit_step time_limit() const noexcept override {
        limit_step step = this->awaiter_limit();
        step.due = due();
        step.outer_count = inherits();
        return step;
    }

    F f_;
    /// The requested limit before it is awaited; from then on the due time since the clock's epoch.
    duration limit_;
    limit_kind kind_;
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
/// at most `limit`. Then it is cancelled, and once it has unwound `std::errc::timed_out` is thrown,
/// also in place of a `std::expected` that reports the cancellation. Resumes inside the last part
/// of `f`. Cancelling it cancels `f`. Limits nest: the earliest one applies, and
/// `this_task::deadline()` returns it. `limit` counts from the beginning of the loop's turn
/// (`loop::now`).
template <class F>
detail::limited<F> with_timeout(duration limit, F&& f) {
    CORACLE_REQUIRE_SAFE_IN_AWAIT(F);
    return {limit, std::forward<F>(f), detail::limit_kind::timeout};
}

/// Awaits `f` as `with_timeout` does, until a point in time on the clock of the loop (`loop::now`),
/// so that one deadline can be handed from step to step.
template <class F>
detail::limited<F> with_deadline(time_point due, F&& f) {
    CORACLE_REQUIRE_SAFE_IN_AWAIT(F);
    return {due, std::forward<F>(f)};
}

/// Awaits `f` even when the surrounding task has been cancelled, for at most `limit`: for clean-up
/// that has to wait. After `limit` it is cancelled and `std::errc::timed_out` is thrown. Deadlines
/// from around it do not count inside.
template <class F>
detail::limited<F> shielded(duration limit, F&& f) {
    CORACLE_REQUIRE_SAFE_IN_AWAIT(F);
    return {limit, std::forward<F>(f), detail::limit_kind::shield};
}

}  // namespace coracle
