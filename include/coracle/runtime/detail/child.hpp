#pragma once

#include <coracle/runtime/operation.hpp>
#include <coracle/runtime/unit.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle {

namespace detail {

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
inline constexpr bool destroys_awaited_closures_twice = true;
#else
inline constexpr bool destroys_awaited_closures_twice = false;
#endif

template <class A>
concept has_member_co_await = requires(A&& a) { std::forward<A>(a).operator co_await(); };

template <class A>
decltype(auto) awaiter_of(A&& a) {
    if constexpr (has_member_co_await<A>) {
        return std::forward<A>(a).operator co_await();
    } else {
        return std::forward<A>(a);
    }
}

/// The type that `co_await std::move(a)` has.
template <class A>
using await_result = decltype(awaiter_of(std::declval<A>()).await_resume());

template <class A>
concept awaitable = requires { typename await_result<A>; };

/// Operations, and callables that GCC before 13 does not destroy twice inside a co_await
/// expression.
template <class F>
concept safe_in_await =
    !destroys_awaited_closures_twice || awaitable<F> || std::is_lvalue_reference_v<F> ||
    std::is_trivially_destructible_v<std::remove_reference_t<F>>;

#define CORACLE_REQUIRE_SAFE_IN_AWAIT(F)                                                      \
    static_assert(::coracle::detail::safe_in_await<F>,                                        \
                  "GCC before 13 destroys the captures of a lambda that is written inside a " \
                  "co_await expression twice: give the lambda a name before, and pass the name")

/// Values that GCC before 13 does not destroy twice inside a co_await expression: all but structs
/// that own something.
template <class T>
concept safe_value_in_await = !destroys_awaited_closures_twice || std::is_lvalue_reference_v<T> ||
                              !std::is_aggregate_v<std::remove_reference_t<T>> ||
                              std::is_trivially_destructible_v<std::remove_reference_t<T>>;

#define CORACLE_REQUIRE_SAFE_VALUE_IN_AWAIT(T)                                         \
    static_assert(::coracle::detail::safe_value_in_await<T>,                           \
                  "GCC before 13 destroys a struct that is written inside a co_await " \
                  "expression twice: give it a name before, and pass that without std::move")

/// Ends a task that was cancelled before it began.
class beginning final : public leaf<beginning, void> {
public:
    static constexpr const char* name = "beginning";
    bool start() noexcept { return true; }
    void cancel() noexcept override { mark_cancelled(); }
    std::expected<void, error> result() const noexcept { return {}; }
};

/// Awaits an operation as a task. One that is cancelled before takes nothing: some operations look
/// for what is there before they wait.
template <class A>
task<await_result<A>> wrap_in_task(A a) {
    co_await beginning();
    co_return co_await std::move(a);
}

template <awaitable A>
task<await_result<A>> to_task(A&& a) {
    using Plain = std::remove_cvref_t<A>;
    if constexpr (is_task<Plain>) {
        return std::forward<A>(a);
    } else {
        return wrap_in_task<Plain>(std::forward<A>(a));
    }
}

/// A task that calls `f`, which must live until it has ended: what `f` itself throws, before there
/// is a task, is thrown by this one.
template <class F>
task<await_result<std::invoke_result_t<F&>>> call_in_task(F& f) {
    co_return co_await f();
}

/// Returns the context of the awaiting task, without suspending it.
struct current_context {
    context* found = nullptr;
    bool await_ready() const noexcept { return false; }
    template <task_promise P>
    bool await_suspend(std::coroutine_handle<P> h) noexcept {
        found = h.promise().context;
        return false;
    }
    context& await_resume() const noexcept { return *found; }
};

/// A task that runs in a context of its own. A derived class is notified of its end once.
template <class T>
class child : scope {
public:
    child() noexcept = default;
    child(child&& other) noexcept : scope(), task_(std::move(other.task_)) {}

    /// Returns what the caller is to resume, once: the first frame as a rule. With `parent`, its
    /// cancellation is inherited.
    std::coroutine_handle<> begin(task<T> t, loop& owner, context* parent, const char* name) {
        task_ = std::move(t);
        context_.emplace(owner, parent);
        context_->name = name;
        owner.runs(name);
        auto& promise = task_.handle().promise();
        promise.scope = this;
        promise.context = &*context_;
        return within_stack(task_.handle(), *context_);
    }

    void cancel() noexcept {
        if (context_.has_value()) context_->cancel();
    }
    context& own_context() noexcept { return *context_; }

    bool was_stopped() const noexcept { return !task_; }
    std::exception_ptr exception() const noexcept {
        return task_ ? task_.handle().promise().exception() : nullptr;
    }
    /// The value; throws what the task threw. Not for one that was stopped.
    T take() { return task_.handle().promise().take(); }
    void destroy() noexcept { task_.reset(); }

protected:
    ~child() = default;

private:
    /// Called when the task has ended; `was_stopped` and `take` may be called from then on. Returns
    /// the coroutine to resume.
    virtual std::coroutine_handle<> ended() noexcept = 0;

    std::coroutine_handle<> finished() noexcept override {
        context_->unlink();
        return ended();
    }
    promise_base* stopped() noexcept override {
        task_.reset();
        context_->unlink();
        ended().resume();
        return nullptr;
    }

    task<T> task_;
    std::optional<context> context_;
};

/// The end of an operation made of children: resumes its awaiter, or ends it as stopped.
class joint : runnable {
public:
    joint() noexcept = default;
    joint(joint&&) noexcept = default;

    void give_errors() noexcept { gives_errors_ = true; }

protected:
    ~joint() = default;

    template <task_promise P>
    void joins(std::coroutine_handle<P> h) noexcept {
        frame_ = &h.promise();
        handle_ = h;
    }
    context& parent() const noexcept { return *frame_->context; }
    loop& owner() const noexcept { return parent().owner(); }
    limit_step awaiter_limit() const noexcept { return {.around = frame_}; }

    /// `stopped`: there is nothing to give to the awaiter.
    std::coroutine_handle<> finish(bool stopped) noexcept {
        if (!stopped || gives_errors_ || !parent().cancelled()) return handle_;
        owner().enqueue(*this);
        return std::noop_coroutine();
    }

    /// Makes the loop call `start_late` in the next turn.
    void start_in_next_turn() noexcept {
        starts_late_ = true;
        owner().enqueue(*this);
    }

private:
    virtual void start_late() noexcept {}
    void run() noexcept override {
        if (std::exchange(starts_late_, false))
            start_late();
        else
            stop_chain(*frame_);
    }

    promise_base* frame_ = nullptr;
    std::coroutine_handle<> handle_;
    bool gives_errors_ = false;
    bool starts_late_ = false;
};

/// The value or error of a child, other exceptions passing through.
template <class T>
std::expected<T, error> outcome_of(child<T>& c, const char* operation) {
    if (c.was_stopped()) return std::unexpected(stopped_error(operation));
    try {
        if constexpr (std::is_void_v<T>) {
            c.take();
            return {};
        } else {
            return c.take();
        }
    } catch (const exception& e) {
        return std::unexpected(e.error());
    }
}

template <class T>
T value_of(child<T>& c, const char* operation) {
    if (c.was_stopped()) throw_exception(stopped_error(operation));
    return c.take();
}

}  // namespace detail
}  // namespace coracle
