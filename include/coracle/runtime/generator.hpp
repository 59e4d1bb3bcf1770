#pragma once

#include <coracle/base/detail/block_pool.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace coracle {

template <class T>
class generator;

/// `co_yield elements_of(g)` in a generator yields all that `g`, a generator of the same type,
/// yields; where `g` has begun, what is behind its current element. However deep generators nest
/// so, a step costs the same.
template <class T>
struct elements_of {
    explicit elements_of(generator<T>&& g) noexcept : inner(std::move(g)) {}
    generator<T> inner;
};

namespace detail {

template <class T>
class generator_promise {
public:
    using reference = std::conditional_t<std::is_reference_v<T>, T, T&&>;
    using pointer = std::add_pointer_t<reference>;

    generator<T> get_return_object() noexcept;
    std::suspend_always initial_suspend() const noexcept { return {}; }

    struct final_awaiter {
        bool await_ready() const noexcept { return false; }
        std::coroutine_handle<> await_suspend(
            std::coroutine_handle<generator_promise> h) const noexcept {
            generator_promise& p = h.promise();
            if (p.outer_ == nullptr) return std::noop_coroutine();
            p.outermost_->innermost_ = p.outer_;
            return std::coroutine_handle<generator_promise>::from_promise(*p.outer_);
        }
        void await_resume() const noexcept {}
    };
    final_awaiter final_suspend() const noexcept { return {}; }

    /// Keeps a pointer: the yielded value is not copied, and lives in the generator until that
    /// resumes.
    std::suspend_always yield_value(reference value) noexcept {
        outermost_->value_ = std::addressof(value);
        return {};
    }

    /// Holds the copy of a constant.
    struct copy {
        std::remove_cvref_t<T> value;
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<generator_promise> h) noexcept {
            h.promise().outermost_->value_ = std::addressof(value);
        }
        void await_resume() const noexcept {}
    };
    copy yield_value(const std::remove_reference_t<T>& value)
        requires(!std::is_reference_v<T>)
    {
        return copy{value};
    }

    struct nested {
        generator<T> inner;
        bool await_ready() const noexcept { return !inner.handle_ || inner.handle_.done(); }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<generator_promise> h) noexcept {
            generator_promise& p = inner.handle_.promise();
            generator_promise& top = *h.promise().outermost_;
            top.innermost_ = std::exchange(p.innermost_, &p);
            // Those that it is in the midst of, where it has begun.
            for (generator_promise* q = top.innermost_; q != nullptr; q = q->outer_) {
                q->outermost_ = &top;
            }
            p.outer_ = &h.promise();
            p.place_ = &inner;
            return std::coroutine_handle<generator_promise>::from_promise(*top.innermost_);
        }
        void await_resume() {
            if (!inner.handle_) return;
            if (auto e = inner.handle_.promise().thrown_) std::rethrow_exception(e);
        }
    };
    nested yield_value(elements_of<T> e) noexcept { return nested{std::move(e.inner)}; }

    void return_void() const noexcept {}
    void unhandled_exception() noexcept { thrown_ = std::current_exception(); }
    // It computes, and cannot wait: that is what async_generator is for.
    template <class A>
    void await_transform(A&&) = delete;

    static void* operator new(std::size_t size) { return allocate_block(size); }
    static void operator delete(void* p, std::size_t size) noexcept { deallocate_block(p, size); }

    /// Resumes the outermost generator, up to the next value or the end.
    void advance() {
        std::coroutine_handle<generator_promise>::from_promise(*innermost_).resume();
        if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
    }
    reference value() const noexcept { return static_cast<reference>(*value_); }

    /// Destroys a generator with those that it is in the midst of, from the innermost outwards:
    /// each frame holds the next one, and their destructors would call each other.
    static void destroy(std::coroutine_handle<generator_promise> h) noexcept {
        generator_promise* p = h.promise().innermost_;
        while (p != &h.promise()) {
            generator_promise* const outer = p->outer_;
            p->place_->handle_ = nullptr;
            std::coroutine_handle<generator_promise>::from_promise(*p).destroy();
            p = outer;
        }
        h.destroy();
    }

private:
    generator_promise* outermost_ = this;
    generator_promise* innermost_ = this;
    generator_promise* outer_ = nullptr;
    generator<T>* place_ = nullptr;  ///< in the frame of the outer one
    pointer value_ = nullptr;
    std::exception_ptr thrown_;
};

}  // namespace detail

/// A coroutine that makes a sequence step by step: it runs when the next element is requested, and
/// `co_yield`s it. An input range to go through once; move-only. `*i` is a `T&&`, or `T` itself
/// when that is a reference, and valid until the next step. What the coroutine throws leaves the
/// step that met it. Destroying it destroys the frame with its locals, wherever it stands. The
/// frame comes from the pool of the loop where there is one; no loop is needed.
template <class T>
class [[nodiscard]] generator {
public:
    using promise_type = detail::generator_promise<T>;

    generator() noexcept = default;
    generator(generator&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    generator& operator=(generator&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~generator() {
        if (handle_) promise_type::destroy(handle_);
    }

    class iterator {
    public:
        using value_type = std::remove_cvref_t<T>;
        using difference_type = std::ptrdiff_t;

        explicit iterator(std::coroutine_handle<promise_type> h) noexcept : handle_(h) {}
        iterator(iterator&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
        iterator& operator=(iterator&& other) noexcept {
            handle_ = std::exchange(other.handle_, nullptr);
            return *this;
        }

        typename promise_type::reference operator*() const noexcept {
            return handle_.promise().value();
        }
        iterator& operator++() {
            handle_.promise().advance();
            return *this;
        }
        void operator++(int) { ++*this; }
        friend bool operator==(const iterator& i, std::default_sentinel_t) noexcept {
            return !i.handle_ || i.handle_.done();
        }

    private:
        std::coroutine_handle<promise_type> handle_;
    };

    /// Runs to the first element. Once.
    iterator begin() {
        if (handle_) handle_.promise().advance();
        return iterator(handle_);
    }
    std::default_sentinel_t end() const noexcept { return {}; }

private:
    friend promise_type;
    explicit generator(std::coroutine_handle<promise_type> h) noexcept : handle_(h) {}
    std::coroutine_handle<promise_type> handle_;
};

template <class T>
generator<T> detail::generator_promise<T>::get_return_object() noexcept {
    return generator<T>(std::coroutine_handle<generator_promise>::from_promise(*this));
}

}  // namespace coracle

template <class T>
inline constexpr bool std::ranges::enable_view<coracle::generator<T>> = true;
