#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace coracle {

template <class Signature>
class unique_function;

/// A move-only callable wrapper. Callables of up to three pointers are stored inline; larger ones
/// take one allocation. One that returns nothing takes no callable that returns something: a task
/// or an error would be lost. Calling an empty one is undefined.
template <class R, class... Args>
class unique_function<R(Args...)> {
public:
    unique_function() noexcept = default;
    unique_function(std::nullptr_t) noexcept {}

    template <class F>
        requires(!std::is_same_v<std::remove_cvref_t<F>, unique_function> &&
                 std::is_invocable_r_v<R, std::decay_t<F>&, Args...> &&
                 (!std::is_void_v<R> ||
                  std::is_void_v<std::invoke_result_t<std::decay_t<F>&, Args...>>))
    unique_function(F&& f) {
        using Stored = std::decay_t<F>;  // of a function, a pointer to it
        if constexpr (fits<Stored>) {
            ::new (static_cast<void*>(storage_)) Stored(std::forward<F>(f));
        } else {
            ::new (static_cast<void*>(storage_)) Stored*(new Stored(std::forward<F>(f)));
        }
        table_ = &table_for<Stored>;
    }

    unique_function(unique_function&& other) noexcept { take(other); }
    unique_function& operator=(unique_function&& other) noexcept {
        if (this != &other) {
            reset();
            take(other);
        }
        return *this;
    }
    ~unique_function() { reset(); }

    explicit operator bool() const noexcept { return table_ != nullptr; }

    R operator()(Args... args) { return table_->call(storage_, std::forward<Args>(args)...); }

    void reset() noexcept {
        if (table_ != nullptr) std::exchange(table_, nullptr)->destroy(storage_);
    }

private:
    static constexpr std::size_t inline_size = 3 * sizeof(void*);

    struct table {
        R (*call)(void*, Args&&...);
        void (*move)(void* from, void* to) noexcept;
        void (*destroy)(void*) noexcept;
    };

    template <class F>
    static constexpr bool fits = sizeof(F) <= inline_size && alignof(F) <= alignof(void*) &&
                                 std::is_nothrow_move_constructible_v<F>;

    template <class F>
    static F& access(void* p) noexcept {
        if constexpr (fits<F>) {
            return *std::launder(static_cast<F*>(p));
        } else {
            return **std::launder(static_cast<F**>(p));
        }
    }

    template <class F>
    static R call_as(void* p, Args&&... args) {
        return access<F>(p)(std::forward<Args>(args)...);
    }

    template <class F>
    static void move_as(void* from, void* to) noexcept {
        if constexpr (fits<F>) {
            ::new (to) F(std::move(access<F>(from)));
            access<F>(from).~F();
        } else {
            ::new (to) F*(&access<F>(from));
        }
    }

    template <class F>
    static void destroy_as(void* p) noexcept {
        if constexpr (fits<F>) {
            access<F>(p).~F();
        } else {
            delete &access<F>(p);
        }
    }

    template <class F>
    static constexpr table table_for{&call_as<F>, &move_as<F>, &destroy_as<F>};

    void take(unique_function& other) noexcept {
        table_ = std::exchange(other.table_, nullptr);
        if (table_ != nullptr) table_->move(other.storage_, storage_);
    }

    alignas(void*) std::byte storage_[inline_size];
    const table* table_ = nullptr;
};

}  // namespace coracle
