#pragma once

#include <coracle/runtime/detail/remote_leaf.hpp>

#include <atomic>
#include <cstddef>

namespace coracle {

class futex;

namespace detail {

/// A waiter; the lock of the futex guards `at`.
class futex_waiter : public remote_waiter {
public:
    enum class state : std::uint8_t { waiting, woken, cancelled };
    state at = state::waiting;

protected:
    futex_waiter() noexcept = default;
    futex_waiter(futex_waiter&&) noexcept = default;
    ~futex_waiter() = default;
};

}  // namespace detail

/// The awaitable returned by `futex::wait`.
class [[nodiscard]] futex_wait final
    : public detail::remote_leaf<futex_wait, void, detail::futex_waiter> {
public:
    static constexpr const char* name = "futex";
    futex_wait(futex& f, std::uint32_t expected) noexcept : futex_(&f), expected_(expected) {}
    bool start() noexcept;
    void cancel() noexcept override;
    std::expected<void, error> result() const noexcept { return {}; }

private:
    futex* futex_;
    std::uint32_t expected_;
};

/// A 32-bit word, and tasks of any loop and plain threads that wait until it changes: the base of
/// the other synchronization primitives. After changing `word` so that waiters can continue, call
/// `wake`. All members may be used from any thread. No waiter and no call may be left when it is
/// destroyed.
class futex {
public:
    explicit futex(std::uint32_t value = 0) noexcept : word(value) {}
    futex(const futex&) = delete;
    futex& operator=(const futex&) = delete;
    ~futex() { assert(waiting_.empty()); }

    /// Read and written by the users, in any way.
    std::atomic<std::uint32_t> word;

    /// Completes when `wake` comes, at once when the word is not `expected`: look at the word again
    /// then. Between that check and the wait no `wake` is missed. Resumes from the loop that awaits
    /// it. Cancelling it ends the wait; a `wake` that had already reached it goes to the next.
    futex_wait wait(std::uint32_t expected) noexcept { return {*this, expected}; }

    /// Waits as `wait` does, blocking a plain thread. Not on the thread of a loop.
    void wait_blocking(std::uint32_t expected) {
        static_cast<void>(wait_blocking(expected, duration::max()));
    }
    /// Returns false if `limit` has passed first.
    [[nodiscard]] bool wait_blocking(std::uint32_t expected, duration limit);

    /// Lets the `n` that have waited longest go on; gives how many there were.
    std::size_t wake(std::size_t n = 1) noexcept;
    std::size_t wake_all() noexcept { return wake(~std::size_t{0}); }

private:
    friend class futex_wait;
    detail::short_lock lock_;
    intrusive_list<detail::futex_waiter> waiting_;
};

}  // namespace coracle
