#pragma once

#include <coracle/base/error.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/task.hpp>

#include <cassert>
#include <expected>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle {

namespace detail {

inline error stopped_error(const char* operation) noexcept {
    return {std::errc::operation_canceled, operation};
}

inline bool is_cancellation(const error& e) noexcept {
    return e == std::errc::operation_canceled;
}

/// The base of operations that wait for one event. `Derived` has `bool start()` (true: completed at
/// once), `void cancel()` and `std::expected<T, error> result()`; it calls `complete()` from the
/// loop, or enqueues itself as a runnable, which does the same.
template <class Derived, class T>
class leaf : public waiter, public runnable {
public:
    leaf() noexcept = default;
    /// Moves an operation that has not begun: only its parameters matter.
    leaf(leaf&& other) noexcept : waiter(), runnable(), gives_errors_(other.gives_errors_) {}

    bool await_ready() const noexcept { return false; }

    template <task_promise P>
    bool await_suspend(std::coroutine_handle<P> h) noexcept {
        frame_ = &h.promise();
        handle_ = h;
        context& c = *frame_->context;
        if (c.cancelled()) {
            cancelled_ = true;
            c.owner().enqueue(*this);
            return true;
        }
        if (self().start()) return false;
        c.wait_on(*this, c.owner().now());
        return true;
    }

    T await_resume() {
        std::expected<T, error> r = outcome();
        if (!r) throw_exception(std::move(r).error());
        if constexpr (!std::is_void_v<T>) return *std::move(r);
    }

    /// Makes it ready to be awaited once more.
    void again() noexcept { cancelled_ = false; }

    /// Makes a cancelled wait give its error instead of ending the task.
    void give_errors() noexcept { gives_errors_ = true; }

    std::expected<T, error> outcome() {
        if (cancelled_) return std::unexpected(stopped_error(Derived::name));
        return self().result();
    }

    void run() noexcept override {
        if (std::exchange(begins_later_, false) && !cancelled_ && !self().start()) return;
        complete();
    }
    const char* waits_for() const noexcept override { return Derived::name; }

protected:
    ~leaf() = default;
    loop& owner() const noexcept { return frame_->context->owner(); }
    /// The address that a wait and its end touch besides the frame.
    const void* far_part() const noexcept { return frame_->context; }

    /// The wait is over, with -ECANCELED or its like if `mark_cancelled` was called. Throws
    /// nothing; see `io_operation::callback`.
    void complete() {
        context& c = *frame_->context;
        c.done_waiting();
        c.owner().runs(c.name);
        if (cancelled_ && c.cancelled() && !gives_errors_) {
            stop_chain(*frame_);
        } else {
            handle_.resume();
        }
    }
    void mark_cancelled() noexcept { cancelled_ = true; }

    /// For `start` of a leaf that takes something from a queue of waiting items, called before it
    /// does so. Returns false when the task has had its share of this turn; `start` then returns
    /// false too, and is called again in a later turn. Taking first and completing later would
    /// lose what was taken when the wait is cancelled in between.
    bool may_begin() noexcept {
        if (owner().may_complete_inline()) return true;
        begins_later_ = true;
        owner().enqueue_behind(*this);
        return false;
    }
    /// Does the same for one that others depend on, such as an accept: it comes among them.
    bool may_begin_among_others() noexcept {
        if (owner().may_complete_inline()) return true;
        begins_later_ = true;
        owner().enqueue(*this);
        return false;
    }
    /// For `cancel` of such a leaf: returns true when it has not begun, and now will not.
    bool withdrawn_before_start() noexcept {
        if (!begins_later_) return false;
        cancelled_ = true;
        owner().enqueue(*this);
        return true;
    }

private:
    Derived& self() noexcept { return static_cast<Derived&>(*this); }

    promise_base* frame_ = nullptr;
    std::coroutine_handle<> handle_;
    bool cancelled_ = false;
    bool gives_errors_ = false;
    bool begins_later_ = false;
};

}  // namespace detail

/// A composite operation that a user awaits: gives a `T`, or throws `exception`. Wrapped in
/// `as_result` it gives `std::expected<T, error>` and throws nothing. Lazy and move-only until
/// awaited. Cancelling it unwinds what it was doing, then the task that awaits it.
template <class T = void>
class [[nodiscard]] operation final : detail::scope, detail::runnable {
public:
    using result_type = std::expected<T, error>;

    operation(task<result_type> work) noexcept : work_(std::move(work)) {}
    /// An operation that has completed already.
    operation(result_type ready) : ready_(keep(std::move(ready))) {}
    operation(operation&&) noexcept = default;

    bool await_ready() const noexcept { return static_cast<bool>(ready_); }

    template <detail::task_promise P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
        assert(work_ && "an operation is awaited once");
        frame_ = &h.promise();
        handle_ = h;
        auto& child = work_.handle().promise();
        child.scope = this;
        child.context = frame_->context;
        return detail::within_stack(work_.handle(), *child.context);
    }

    T await_resume() {
        result_type r = outcome();
        if (!r) throw_exception(std::move(r).error());
        if constexpr (!std::is_void_v<T>) return *std::move(r);
    }

    void give_errors() noexcept { gives_errors_ = true; }

    result_type outcome() {
        if (ready_) return std::move(*ready_);
        if (!work_) return std::unexpected(detail::stopped_error("operation"));
        return work_.handle().promise().take();
    }

private:
    // A state that few operations need makes the frames of all that wait for one larger.
    static constexpr bool is_large = sizeof(result_type) > 128;
    using kept =
        std::conditional_t<is_large, std::unique_ptr<result_type>, std::optional<result_type>>;
    static kept keep(result_type&& r) {
        if constexpr (is_large) {
            return std::make_unique<result_type>(std::move(r));
        } else {
            return std::move(r);
        }
    }

    bool was_stopped() const noexcept {
        auto& child = work_.handle().promise();
        return frame_->context->cancelled() && !gives_errors_ && child.exception() == nullptr &&
               !child.value() && detail::is_cancellation(child.value().error());
    }

    std::coroutine_handle<> finished() noexcept override {
        if (!was_stopped()) return detail::within_stack(handle_, *frame_->context);
        // A frame must not destroy itself while it stands at its final suspend point.
        frame_->context->owner().enqueue(*this);
        return std::noop_coroutine();
    }

    detail::promise_base* stopped() noexcept override {
        work_.reset();
        if (!gives_errors_) return frame_;
        handle_.resume();
        return nullptr;
    }

    void run() noexcept override { detail::stop_chain(*frame_); }

    detail::limit_step time_limit() const noexcept override { return {.around = frame_}; }

    task<result_type> work_;  ///< empty, and nothing ready: it was stopped
    kept ready_;
    detail::promise_base* frame_ = nullptr;
    std::coroutine_handle<> handle_;
    bool gives_errors_ = false;
};

/// An operation that has not begun: the parameters of `Op`, an `Op::parameters`, in a few words
/// that travel in registers. The operation itself is made where it is awaited, or where it gets a
/// name
/// (`net::receive next = peer.receive();`), and is never moved.
template <class Op>
class [[nodiscard]] deferred_operation {
public:
    explicit deferred_operation(const typename Op::parameters& what) noexcept : parameters_(what) {}

    operator Op() const noexcept { return Op(parameters_); }
    const typename Op::parameters& parameters() const noexcept { return parameters_; }

    Op operator co_await() const noexcept { return Op(parameters_); }

private:
    static_assert(std::is_trivially_copyable_v<typename Op::parameters>);
    typename Op::parameters parameters_;
};

namespace detail {

template <class Op>
concept operation_like = requires(Op& op) {
    op.give_errors();
    op.outcome();
};

/// `as_result` of an operation.
template <class Op>
class [[nodiscard]] result_awaiter {
public:
    explicit result_awaiter(Op&& op) noexcept : op_(std::move(op)) { op_.give_errors(); }
    template <class What>
        requires std::is_same_v<What, deferred_operation<Op>>
    explicit result_awaiter(const What& what) noexcept : op_(what.parameters()) {
        op_.give_errors();
    }
    bool await_ready() noexcept(noexcept(op_.await_ready())) { return op_.await_ready(); }
    template <task_promise P>
    auto await_suspend(std::coroutine_handle<P> h) noexcept(noexcept(op_.await_suspend(h))) {
        return op_.await_suspend(h);
    }
    auto await_resume() { return op_.outcome(); }

private:
    Op op_;
};

/// `as_result` of an operation that has a name, which stays where it is.
template <class Op>
class [[nodiscard]] result_reference {
public:
    explicit result_reference(Op& op) noexcept : op_(&op) { op.give_errors(); }
    bool await_ready() noexcept(noexcept(op_->await_ready())) { return op_->await_ready(); }
    template <task_promise P>
    auto await_suspend(std::coroutine_handle<P> h) noexcept(noexcept(op_->await_suspend(h))) {
        return op_->await_suspend(h);
    }
    auto await_resume() { return op_->outcome(); }

private:
    Op* op_;
};

/// Awaits an operation that has a name, and leaves it to the caller to ask it for its outcome.
template <class Op>
class [[nodiscard]] completion {
public:
    explicit completion(Op& op) noexcept : op_(&op) { op.give_errors(); }
    bool await_ready() const noexcept { return false; }
    template <task_promise P>
    auto await_suspend(std::coroutine_handle<P> h) noexcept(noexcept(op_->await_suspend(h))) {
        return op_->await_suspend(h);
    }
    void await_resume() const noexcept {}

private:
    Op* op_;
};

/// `as_result` of a task: catches the `exception`s of ours that it throws, and its stop.
template <class T>
class [[nodiscard]] task_result_awaiter final : scope {
public:
    explicit task_result_awaiter(task<T>&& t) noexcept : task_(std::move(t)) {}
    bool await_ready() const noexcept { return false; }
    template <task_promise P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
        frame_ = &h.promise();
        handle_ = h;
        auto& child = task_.handle().promise();
        child.scope = this;
        child.context = frame_->context;
        return within_stack(task_.handle(), *child.context);
    }
    std::expected<T, error> await_resume() {
        if (!task_) return std::unexpected(stopped_error("task"));
        try {
            if constexpr (std::is_void_v<T>) {
                task_.handle().promise().take();
                return {};
            } else {
                return task_.handle().promise().take();
            }
        } catch (const exception& e) {
            return std::unexpected(e.error());
        }
    }

private:
    std::coroutine_handle<> finished() noexcept override {
        return within_stack(handle_, *frame_->context);
    }
    promise_base* stopped() noexcept override {
        task_.reset();
        handle_.resume();
        return nullptr;
    }
    limit_step time_limit() const noexcept override { return {.around = frame_}; }

    task<T> task_;
    promise_base* frame_ = nullptr;
    std::coroutine_handle<> handle_;
};

}  // namespace detail

/// Awaits an operation and gives `std::expected<T, error>`; a cancelled one gives
/// `std::errc::operation_canceled`. Nothing is thrown.
template <detail::operation_like Op>
    requires(!std::is_reference_v<Op>)
detail::result_awaiter<Op> as_result(Op&& op) noexcept {
    return detail::result_awaiter<Op>(std::forward<Op>(op));
}

template <class Op>
detail::result_awaiter<Op> as_result(const deferred_operation<Op>& what) noexcept {
    return detail::result_awaiter<Op>(what);
}

/// Awaits an operation that has a name, in place and once, as a result.
template <detail::operation_like Op>
detail::result_reference<Op> as_result(Op& op) noexcept {
    return detail::result_reference<Op>(op);
}

/// Awaits a task and gives `std::expected<T, error>`: exceptions other than `exception` pass
/// through.
template <class T>
detail::task_result_awaiter<T> as_result(task<T>&& t) noexcept {
    return detail::task_result_awaiter<T>(std::move(t));
}

}  // namespace coracle
