#pragma once

#include <coracle/runtime/detail/child.hpp>
#include <coracle/runtime/semaphore.hpp>

#include <optional>

namespace coracle {

template <class T>
class mutex;

/// Access to what a `mutex` guards, for as long as it lives. Move-only; the mutex must outlive it.
template <class T>
class [[nodiscard]] mutex_guard {
public:
    explicit mutex_guard(mutex<T>& m) noexcept : mutex_(&m) {}
    mutex_guard(mutex_guard&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    mutex_guard& operator=(mutex_guard&& other) noexcept {
        if (this != &other) {
            unlock();
            mutex_ = std::exchange(other.mutex_, nullptr);
        }
        return *this;
    }
    ~mutex_guard() { unlock(); }

    T& operator*() const noexcept { return mutex_->value_; }
    T* operator->() const noexcept { return &mutex_->value_; }

    /// Returns true while it holds the lock.
    explicit operator bool() const noexcept { return mutex_ != nullptr; }
    /// Unlocks early.
    void unlock() noexcept {
        if (mutex_ != nullptr) std::exchange(mutex_, nullptr)->lock_.give(1);
    }

private:
    mutex<T>* mutex_;
};

/// The awaitable returned by `mutex::lock`.
template <class T>
class [[nodiscard]] mutex_lock final : public detail::permit_wait<mutex_lock<T>, mutex_guard<T>> {
public:
    static constexpr const char* name = "mutex";
    explicit mutex_lock(mutex<T>& m) noexcept
        : detail::permit_wait<mutex_lock<T>, mutex_guard<T>>(m.lock_, 1), mutex_(&m) {}
    std::expected<mutex_guard<T>, error> result() const noexcept { return mutex_guard<T>(*mutex_); }

private:
    mutex<T>* mutex_;
};

/// A value that one task of a loop at a time may use, also across its waits:
///
///     mutex<std::string> line;
///     auto guard = co_await line.lock();
///     guard->append("...");
///
/// The lock goes to waiters in the order in which they came. Tasks of one loop only; threads never
/// wait for it. It must be unlocked and without waiters when it is destroyed. `mutex<>` guards no
/// value, only a section of code.
template <class T = unit>
class mutex {
public:
    template <class... Args>
        requires std::is_constructible_v<T, Args...>
    explicit mutex(Args&&... args) : value_(std::forward<Args>(args)...) {}
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    /// Completes when the lock is this task's; gives the guard. Resumes from the loop. Cancelling
    /// it ends the wait; a lock that was already handed to it goes to the next.
    mutex_lock<T> lock() noexcept { return mutex_lock<T>(*this); }
    /// Returns a guard if the mutex is unlocked and has no waiters.
    std::optional<mutex_guard<T>> try_lock() noexcept {
        if (!lock_.try_take(1)) return std::nullopt;
        return mutex_guard<T>(*this);
    }
    bool locked() const noexcept { return lock_.free() == 0; }

private:
    friend class mutex_guard<T>;
    friend class mutex_lock<T>;
    T value_;
    detail::permits lock_{1};
};

}  // namespace coracle
