#pragma once

#include <coracle/base/detail/block_pool.hpp>
#include <coracle/runtime/detail/context.hpp>
#include <coracle/runtime/detail/stack_depth.hpp>

#include <cassert>
#include <coroutine>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace coracle {

template <class T = void>
class task;

namespace detail {

template <class P>
concept task_promise = std::is_base_of_v<promise_base, P>;

struct task_promise_base : promise_base {
    struct final_awaiter {
        bool await_ready() const noexcept { return false; }
        template <class P>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) const noexcept {
            promise_base& p = h.promise();
            if (p.scope != nullptr) return p.scope->finished();
            return within_stack(p.continuation, *p.context);
        }
        void await_resume() const noexcept {}
    };

    std::suspend_always initial_suspend() const noexcept { return {}; }
    final_awaiter final_suspend() const noexcept { return {}; }

    static void* operator new(std::size_t size) { return allocate_block(size); }
    static void operator delete(void* p, std::size_t size) noexcept { deallocate_block(p, size); }
};

enum class outcome : unsigned char { none, value, exception };

/// Returns what a `task<T>` throws whose coroutine has ended without a value: `exception`
/// (errc::no_value).
std::exception_ptr no_value() noexcept;

template <class T>
class promise : public task_promise_base {
public:
    promise() noexcept {}
    ~promise() {
        if (outcome_ == outcome::value) value_.~T();
        if (outcome_ == outcome::exception) exception_.~exception_ptr();
    }

    task<T> get_return_object() noexcept;

    // A number is converted where it is returned, so that `co_return 0` converts a constant.
    void return_value(T value) noexcept
        requires std::is_arithmetic_v<T>
    {
        value_ = value;
        outcome_ = outcome::value;
    }
    template <class U = T>
        requires(!std::is_arithmetic_v<T> && std::is_constructible_v<T, U &&>)
    void return_value(U&& value) {
        ::new (static_cast<void*>(std::addressof(value_))) T(std::forward<U>(value));
        outcome_ = outcome::value;
    }
    void unhandled_exception() noexcept { fail(std::current_exception()); }
    // g++ warns of no path that ends without co_return.
    final_awaiter final_suspend() noexcept {
        if (outcome_ == outcome::none) [[unlikely]]
            fail(no_value());
        return {};
    }

    T take() {
        if (outcome_ == outcome::exception) std::rethrow_exception(exception_);
        return std::move(value_);
    }
    std::exception_ptr exception() const noexcept {
        return outcome_ == outcome::exception ? exception_ : nullptr;
    }
    T& value() noexcept { return value_; }

private:
    void fail(std::exception_ptr thrown) noexcept {
        ::new (static_cast<void*>(std::addressof(exception_)))
            std::exception_ptr(std::move(thrown));
        outcome_ = outcome::exception;
    }

    union {
        T value_;
        std::exception_ptr exception_;
    };
    outcome outcome_ = outcome::none;
};

template <>
class promise<void> : public task_promise_base {
public:
    task<void> get_return_object() noexcept;
    void return_void() noexcept {}
    void unhandled_exception() noexcept { exception_ = std::current_exception(); }
    void take() const {
        if (exception_ != nullptr) std::rethrow_exception(exception_);
    }
    std::exception_ptr exception() const noexcept { return exception_; }

private:
    std::exception_ptr exception_;
};

}  // namespace detail

/// A coroutine that starts when it is awaited and gives a `T`, or throws what it threw. It resumes
/// its awaiter by symmetric transfer, inherits its awaiter's cancellation, and takes its frame
/// from the pool of the loop. Move-only. Destroying a task that was never awaited destroys its
/// arguments and runs nothing; a started task is destroyed only by the library. Where a path of the
/// coroutine ends without co_return, a `task<T>` throws `exception` (errc::no_value).
template <class T>
class [[nodiscard]] task {
public:
    using promise_type = detail::promise<T>;
    using value_type = T;

    task() noexcept = default;
    explicit task(std::coroutine_handle<promise_type> h) noexcept : frame_(h) {}

    explicit operator bool() const noexcept { return static_cast<bool>(frame_.get()); }
    std::coroutine_handle<promise_type> handle() const noexcept {
        return std::coroutine_handle<promise_type>::from_address(frame_.get().address());
    }
    void reset() noexcept { frame_.reset(); }

    class awaiter {
    public:
        explicit awaiter(task&& t) noexcept : task_(std::move(t)) {}
        bool await_ready() const noexcept { return false; }
        template <detail::task_promise P>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
            assert(task_);  // a task is awaited once
            promise_type& child = task_.handle().promise();
            child.continuation = h;
            child.parent = &h.promise();
            child.holder = &task_.frame_;
            child.context = h.promise().context;
            return detail::within_stack(task_.frame_.get(), *child.context);
        }
        T await_resume() { return task_.handle().promise().take(); }

    private:
        task task_;
    };

    /// Completes when the coroutine returns; resumes on the same loop, in the same turn. When
    /// cancelled, the task and all that it awaits are destroyed, innermost first.
    awaiter operator co_await() && noexcept { return awaiter(std::move(*this)); }
    awaiter operator co_await() & = delete;  // it is awaited once: co_await std::move(name)

private:
    detail::owned_frame frame_;
};

template <class T>
task<T> detail::promise<T>::get_return_object() noexcept {
    return task<T>(std::coroutine_handle<promise<T>>::from_promise(*this));
}

inline task<void> detail::promise<void>::get_return_object() noexcept {
    return task<void>(std::coroutine_handle<promise<void>>::from_promise(*this));
}

template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;

}  // namespace coracle
