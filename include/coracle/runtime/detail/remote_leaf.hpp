#pragma once

#include <coracle/runtime/detail/short_lock.hpp>
#include <coracle/runtime/detail/thread_event.hpp>
#include <coracle/runtime/operation.hpp>

#include <cassert>
#include <cstdint>

namespace coracle::detail {

/// Stands in a list that a `short_lock` guards, and is woken from any thread.
class remote_waiter : public list_hook {
public:
    /// Called once, when it has been taken from its list, with the lock released. After the call it
    /// may be gone.
    virtual void wake() noexcept = 0;

protected:
    remote_waiter() noexcept = default;
    remote_waiter(remote_waiter&&) noexcept = default;
    ~remote_waiter() = default;
};

using woken_list = intrusive_list<remote_waiter>;

inline void wake_all(woken_list& woken) noexcept {
    while (remote_waiter* w = woken.pop_front()) w->wake();
}

/// A leaf that stands in such a list: `Waiter` is `remote_waiter` or derives from it. Once it has
/// been taken from the list it will be woken, so a cancelled one must wait for that.
template <class Derived, class T, class Waiter>
class remote_leaf : public leaf<Derived, T>, public Waiter, remote_runnable {
public:
    void wake() noexcept final {
        loop& home = this->owner();
        if (loop::current() == &home)
            home.hand_over(*this);
        else
            home.post(static_cast<remote_runnable&>(*this));
    }

protected:
    remote_leaf() noexcept = default;
    remote_leaf(remote_leaf&&) noexcept = default;
    ~remote_leaf() = default;

private:
    void arrived() noexcept final { this->run(); }
    // A loop ends after its tasks, so it never drops one that waits.
    void dropped() noexcept final {}
};

/// A plain thread that stands in such a list.
template <class Waiter>
class blocked_thread final : public Waiter {
public:
    // Everything that could wake this thread might wait behind it if it ran a loop.
    blocked_thread() { assert(loop::current() == nullptr); }
    void wake() noexcept override { woken_.set(); }
    void wait() noexcept { woken_.wait(); }
    bool wait_for(duration limit) noexcept { return woken_.wait_for(limit); }

private:
    thread_event woken_;
};

}  // namespace coracle::detail
