#pragma once

#include <coracle/runtime/detail/remote_leaf.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <memory>

namespace coracle {

namespace detail {

class cancel_state;

/// Stands in the list of a `cancel_source` for one operation.
class cancel_link : public remote_waiter, remote_runnable {
public:
    enum class state : std::uint8_t { apart, attached, taken };
    state at = state::apart;  ///< the lock of the source guards it

    void wake() noexcept final;

protected:
    cancel_link() noexcept = default;
    cancel_link(cancel_link&&) noexcept = default;
    ~cancel_link() = default;

    /// Returns false if the source has been cancelled already.
    bool attach(cancel_state& source, loop& home) noexcept;
    /// Returns false if a cancellation is under way: `cancelled_from_outside` follows.
    bool detach() noexcept;

    /// Called on the loop.
    virtual void cancelled_from_outside() noexcept = 0;

private:
    void arrived() noexcept final;
    void dropped() noexcept final {}

    bool arrived_ = false;  // the loop's
    cancel_state* source_ = nullptr;
    loop* home_ = nullptr;
};

/// The state that copies of a `cancel_source` share.
class cancel_state {
public:
    void cancel() noexcept;
    bool cancelled() const noexcept { return cancelled_.load(std::memory_order_acquire); }

private:
    friend class cancel_link;
    short_lock lock_;
    std::atomic<bool> cancelled_{false};
    intrusive_list<cancel_link> links_;
};

}  // namespace detail

/// Cancels operations from outside, from any thread. A handle: copies are the same source. Sticky:
/// what is run with it after `cancel` is cancelled from the start.
class cancel_source {
public:
    cancel_source() : state_(std::make_shared<detail::cancel_state>()) {}

    /// Asks all that runs with this source, on any loops, to stop. Does not wait for it. Once more
    /// is harmless. Any thread.
    void cancel() const noexcept { state_->cancel(); }
    bool cancelled() const noexcept { return state_->cancelled(); }

    const std::shared_ptr<detail::cancel_state>& state() const noexcept { return state_; }

private:
    std::shared_ptr<detail::cancel_state> state_;
};

namespace detail {

/// Runs one task in a context of its own that a `cancel_source` cancels.
template <class T, class F>
class [[nodiscard]] cancellable_operation final : public joint, child<T>, cancel_link {
public:
    static constexpr const char* name = "with_cancel";
    cancellable_operation(std::shared_ptr<cancel_state> source, F f)
        : source_(std::move(source)), f_(std::move(f)) {}
    cancellable_operation(cancellable_operation&&) noexcept = default;

    bool await_ready() const noexcept { return false; }

    template <task_promise P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        this->joins(h);
        loop& l = this->owner();
        const auto first = this->begin(make(), l, &this->parent(), name);
        if (!this->attach(*source_, l)) this->cancel();
        return first;
    }

    T await_resume() { return value_of<T>(*this, name); }
    std::expected<T, error> outcome() { return outcome_of<T>(*this, name); }

private:
    task<T> make() {
        if constexpr (awaitable<F>) {
            return to_task(std::move(f_));
        } else {
            return to_task(f_());
        }
    }

    void cancelled_from_outside() noexcept override {
        if (ended_)
            this->finish(this->was_stopped()).resume();
        else
            this->cancel();
    }
    std::coroutine_handle<> ended() noexcept override {
        if (this->detach()) return this->finish(this->was_stopped());
        // It is in the list of what was posted to this loop, and must stay until its turn.
        ended_ = true;
        return std::noop_coroutine();
    }
    limit_step time_limit() const noexcept override { return this->awaiter_limit(); }

    std::shared_ptr<cancel_state> source_;
    F f_;
    bool ended_ = false;
};

template <class F>
using cancellable =
    cancellable_operation<typename limited_result<std::decay_t<F>>::type, std::decay_t<F>>;

}  // namespace detail

/// Awaits `f`, an operation, a task, or a callable that gives one (owned until it has ended), until
/// `source` is cancelled. Then `f` is cancelled, and once it has unwound
/// `std::errc::operation_canceled` is thrown; the awaiting task itself goes on. Resumes where `f`
/// ends, or from the loop. Cancelling it cancels `f`.
template <class F>
detail::cancellable<F> with_cancel(const cancel_source& source, F&& f) {
    CORACLE_REQUIRE_SAFE_IN_AWAIT(F);
    return {source.state(), std::forward<F>(f)};
}

}  // namespace coracle
