#pragma once

#include <coracle/runtime/operation.hpp>

#include <cassert>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace coracle::io::detail {

/// The base of the operations of `reader` and `writer`. `Derived` has `bool take()`, which
/// completes the operation within the buffer or changes nothing; `T taken()`, its value; and
/// `task<std::expected<T, error>> wait()`, which completes it whatever is in the buffer. A frame is
/// made for the last one only, and only then does the task that awaits suspend.
template <class Derived, class T>
class [[nodiscard]] buffered_operation {
public:
    using result_type = std::expected<T, error>;

    /// Before it is awaited.
    buffered_operation(buffered_operation&& other) noexcept : gives_errors_(other.gives_errors_) {
        assert(!other.waits_);
    }
    ~buffered_operation() {
        if (waits_) std::destroy_at(std::addressof(waiting_));
    }

    bool await_ready() noexcept(noexcept(std::declval<Derived&>().take())) { return self().take(); }

    template <coracle::detail::task_promise P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        ::new (static_cast<void*>(std::addressof(waiting_))) operation<T>(self().wait());
        waits_ = true;
        if (gives_errors_) waiting_.give_errors();
        return waiting_.await_suspend(h);
    }

    T await_resume() {
        if (waits_) return waiting_.await_resume();
        if constexpr (!std::is_void_v<T>) return self().taken();
    }

    void give_errors() noexcept { gives_errors_ = true; }

    result_type outcome() {
        if (waits_) return waiting_.outcome();
        if constexpr (std::is_void_v<T>)
            return {};
        else
            return self().taken();
    }

protected:
    buffered_operation() noexcept {}

private:
    Derived& self() noexcept { return static_cast<Derived&>(*this); }

    bool waits_ = false;
    bool gives_errors_ = false;
    union {
        operation<T> waiting_;
    };
};

}  // namespace coracle::io::detail
