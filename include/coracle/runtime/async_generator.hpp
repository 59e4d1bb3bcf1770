#pragma once

#include <coracle/runtime/operation.hpp>

#include <cassert>
#include <exception>
#include <optional>

namespace coracle {

template <class T>
class async_generator;

namespace detail {

template <class T>
class async_generator_promise : public task_promise_base {
public:
    async_generator<T> get_return_object() noexcept;

    struct yielded {
        bool await_ready() const noexcept { return false; }
        std::coroutine_handle<> await_suspend(
            std::coroutine_handle<async_generator_promise> h) const noexcept {
            return h.promise().scope->finished();
        }
        void await_resume() const noexcept {}
    };
    template <class U = T>
        requires std::is_constructible_v<T, U&&>
    yielded yield_value(U&& value) {
        value_.emplace(std::forward<U>(value));
        return {};
    }
    void return_void() const noexcept {}
    void unhandled_exception() noexcept { thrown_ = std::current_exception(); }

    /// The value of this step, nothing at the end; throws what the coroutine threw.
    std::optional<T> take() {
        if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
        return std::exchange(value_, std::nullopt);
    }

private:
    std::optional<T> value_;
    std::exception_ptr thrown_;
};

/// The awaitable returned by `async_generator::next`.
template <class T>
class [[nodiscard]] next_operation final : scope {
public:
    explicit next_operation(async_generator<T>& g) noexcept : generator_(&g) {}
    next_operation(next_operation&& other) noexcept
        : scope(), generator_(other.generator_), gives_errors_(other.gives_errors_) {}
    ~next_operation() {
        // The consumer is stopped amid the step: the generator's frames go before it, innermost
        // first.
        if (running_) generator_->end();
    }

    void give_errors() noexcept { gives_errors_ = true; }
    bool await_ready() const noexcept { return !generator_->handle_; }

    template <task_promise P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
        frame_ = &h.promise();
        handle_ = h;
        auto& p = generator_->handle_.promise();
        assert(!generator_->stepping_ && "one step at a time");
        p.scope = this;
        p.context = frame_->context;
        running_ = generator_->stepping_ = true;
        return within_stack(generator_->handle_, *p.context);
    }

    std::optional<T> await_resume() {
        if (stopped_) throw_exception(stopped_error("async_generator"));
        if (!generator_->handle_) return std::nullopt;
        return generator_->take();
    }

    std::expected<std::optional<T>, error> outcome() {
        if (stopped_) return std::unexpected(stopped_error("async_generator"));
        try {
            return await_resume();
        } catch (const exception& e) {
            return std::unexpected(e.error());
        }
    }

private:
    std::coroutine_handle<> finished() noexcept override {
        running_ = generator_->stepping_ = false;
        return handle_;
    }
    promise_base* stopped() noexcept override {
        if (!gives_errors_) return frame_;
        running_ = false;
        stopped_ = true;
        generator_->end();
        handle_.resume();
        return nullptr;
    }
    limit_step time_limit() const noexcept override { return {.around = frame_}; }

    async_generator<T>* generator_;
    promise_base* frame_ = nullptr;
    std::coroutine_handle<> handle_;
    bool running_ = false;
    bool stopped_ = false;
    bool gives_errors_ = false;
};

}  // namespace detail

/// A coroutine that makes a sequence step by step, and may wait for what it makes it of:
///
///     while (auto line = co_await lines.next()) use(*line);
///
/// It runs only while a step is awaited, as a part of the task that awaits it: on its loop, under
/// its deadlines, cancelled with it. Move-only; not while a step is awaited. `T` is an object type.
///
/// Destroying it between two steps destroys its frame, where it stands at a `co_yield` and nothing
/// is pending in it; its destructors run, but it cannot wait any more. It must not be destroyed
/// while a step is awaited, which is asserted: let its consumer be cancelled.
template <class T>
class [[nodiscard]] async_generator {
public:
    static_assert(std::is_object_v<T>, "an async_generator yields objects, which are moved out");
    using promise_type = detail::async_generator_promise<T>;

    async_generator() noexcept = default;
    async_generator(async_generator&& other) noexcept
        : handle_(std::exchange(other.handle_, nullptr)) {
        assert(!other.stepping_);
    }
    async_generator& operator=(async_generator&& other) noexcept {
        assert(!stepping_ && !other.stepping_);
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~async_generator() {
        assert(!stepping_ && "a step is awaited");
        end();
    }

    /// Completes when the next element is there, and gives it, or nothing when the coroutine has
    /// returned, and ever after. Throws what the coroutine threw, which then has ended. Resumes
    /// inside. Cancelling it cancels what the coroutine waits for and ends it: its frames are
    /// destroyed, and further steps give nothing.
    detail::next_operation<T> next() noexcept { return detail::next_operation<T>(*this); }

private:
    friend promise_type;
    friend class detail::next_operation<T>;
    explicit async_generator(std::coroutine_handle<promise_type> h) noexcept : handle_(h) {}

    std::optional<T> take() {
        // An ended frame goes at once: it may hold what the consumer waits to see closed.
        if (!handle_.done()) return handle_.promise().take();
        struct ending {
            async_generator* self;
            ~ending() { self->end(); }
        } const last{this};
        return handle_.promise().take();
    }
    void end() noexcept {
        stepping_ = false;
        if (handle_) std::exchange(handle_, nullptr).destroy();
    }

    std::coroutine_handle<promise_type> handle_;
    bool stepping_ = false;
};

template <class T>
async_generator<T> detail::async_generator_promise<T>::get_return_object() noexcept {
    return async_generator<T>(std::coroutine_handle<async_generator_promise>::from_promise(*this));
}

}  // namespace coracle
