#pragma once

#include <coracle/runtime/operation.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace coracle {

namespace detail {

/// A waiter for permits.
class permit_request : public list_hook {
public:
    enum class state : std::uint8_t { idle, waiting, granted, withdrawn };

    /// The permits are this one's now. Only from `permits`.
    virtual void granted() noexcept = 0;

    std::size_t count = 1;
    state at = state::idle;

protected:
    permit_request() noexcept = default;
    permit_request(permit_request&&) noexcept = default;
    ~permit_request() = default;
};

/// Permits that are handed over in the order in which they were requested.
class permits {
public:
    explicit permits(std::size_t n) noexcept : free_(n) {}
    permits(const permits&) = delete;
    permits& operator=(const permits&) = delete;
    ~permits() { assert(waiting_.empty()); }

    std::size_t free() const noexcept { return free_; }
    bool try_take(std::size_t n) noexcept {
        if (!waiting_.empty() || free_ < n) return false;
        free_ -= n;
        return true;
    }
    void wait(permit_request& r) noexcept {
        r.at = permit_request::state::waiting;
        waiting_.push_back(r);
    }
    void give(std::size_t n) noexcept {
        free_ += n;
        grant();
    }
    /// Cancels `r`. Returns true if it was waiting: the caller then resumes its owner. Permits that
    /// were granted already go to the next waiter.
    bool withdraw(permit_request& r) noexcept;

private:
    void grant() noexcept;

    std::size_t free_;
    intrusive_list<permit_request> waiting_;
};

/// The base of operations that wait for permits.
template <class Derived, class T>
class permit_wait : public leaf<Derived, T>, permit_request {
public:
    bool start() noexcept {
        loop& l = this->owner();
        if (!permits_->try_take(this->count)) {
            permits_->wait(*this);
            return false;
        }
        if (l.may_complete_inline()) return true;
        at = state::granted;
        l.enqueue(*this);
        return false;
    }
    void cancel() noexcept override {
        if (at == state::withdrawn) return;
        if (permits_->withdraw(*this)) this->owner().enqueue(*this);
        this->mark_cancelled();
    }

protected:
    permit_wait(permits& p, std::size_t n) noexcept : permits_(&p) { count = n; }
    permit_wait(permit_wait&&) noexcept = default;
    ~permit_wait() = default;

private:
    void granted() noexcept override { this->owner().hand_over(*this); }

    permits* permits_;
};

}  // namespace detail

class semaphore;

/// The awaitable returned by `semaphore::acquire`.
class [[nodiscard]] semaphore_acquire final : public detail::permit_wait<semaphore_acquire, void> {
public:
    static constexpr const char* name = "semaphore";
    semaphore_acquire(detail::permits& p, std::size_t n) noexcept : permit_wait(p, n) {}
    std::expected<void, error> result() const noexcept { return {}; }
};

/// Permits that are given back when it is destroyed. Move-only; the semaphore must outlive it.
class [[nodiscard]] semaphore_permit {
public:
    semaphore_permit() noexcept = default;
    semaphore_permit(detail::permits& p, std::size_t n) noexcept : permits_(&p), count_(n) {}
    semaphore_permit(semaphore_permit&& other) noexcept
        : permits_(std::exchange(other.permits_, nullptr)), count_(other.count_) {}
    semaphore_permit& operator=(semaphore_permit&& other) noexcept {
        if (this != &other) {
            release();
            permits_ = std::exchange(other.permits_, nullptr);
            count_ = other.count_;
        }
        return *this;
    }
    ~semaphore_permit() { release(); }

    explicit operator bool() const noexcept { return permits_ != nullptr; }
    void release() noexcept {
        if (permits_ != nullptr) std::exchange(permits_, nullptr)->give(count_);
    }

private:
    detail::permits* permits_ = nullptr;
    std::size_t count_ = 0;
};

/// The awaitable returned by `semaphore::hold`.
class [[nodiscard]] semaphore_hold final
    : public detail::permit_wait<semaphore_hold, semaphore_permit> {
public:
    static constexpr const char* name = "semaphore";
    semaphore_hold(detail::permits& p, std::size_t n) noexcept
        : permit_wait(p, n), from_(&p), held_(n) {}
    std::expected<semaphore_permit, error> result() const noexcept {
        return semaphore_permit(*from_, held_);
    }

private:
    detail::permits* from_;
    std::size_t held_;
};

/// Permits that tasks of one loop take and give back. Waiters are served in the order in which they
/// came, even when a later one requests fewer. No task may wait when it is destroyed. Belongs to
/// one loop.
class semaphore {
public:
    explicit semaphore(std::size_t permits) noexcept : permits_(permits) {}

    /// Completes when `n` permits are free and all earlier waiters have theirs. Resumes from the
    /// loop. Cancelling it ends the wait; permits that were already handed to it go to the next.
    semaphore_acquire acquire(std::size_t n = 1) noexcept { return {permits_, n}; }
    /// Waits as `acquire` does; gives an object that holds the permits until it is destroyed.
    semaphore_hold hold(std::size_t n = 1) noexcept { return {permits_, n}; }
    /// Holds `n` permits if that needs no waiting, else none.
    semaphore_permit try_hold(std::size_t n = 1) noexcept {
        return permits_.try_take(n) ? semaphore_permit(permits_, n) : semaphore_permit();
    }
    /// Takes `n` permits if that needs no waiting.
    [[nodiscard]] bool try_acquire(std::size_t n = 1) noexcept { return permits_.try_take(n); }
    /// Releases `n` permits, which need not have been acquired.
    void release(std::size_t n = 1) noexcept { permits_.give(n); }

    std::size_t available() const noexcept { return permits_.free(); }

private:
    detail::permits permits_;
};

}  // namespace coracle
