#pragma once

#include <coracle/base/intrusive_list.hpp>

#include <coroutine>
#include <cstdint>

namespace coracle {
class loop;
}

namespace coracle::detail {

/// An operation that a task is suspended on. `cancel` asks it to end; it ends later, from the
/// loop, never inside the call.
class waiter {
public:
    waiter() noexcept = default;
    waiter(waiter&&) noexcept = default;
    virtual void cancel() noexcept = 0;

protected:
    ~waiter() = default;
};

/// A line of execution: a chain of frames of which one waits. Contexts form the tree along which
/// cancellation travels. Belongs to one loop.
class context : public list_hook {
public:
    context(loop& owner, context* parent) noexcept : owner_(&owner) {
        if (parent != nullptr) attach(*parent);
    }
    ~context() = default;

    loop& owner() const noexcept { return *owner_; }

    /// Makes this a child of `parent`, so that cancelling the parent cancels it.
    void attach(context& parent) noexcept {
        parent.children_.push_back(*this);
        cancelled_ = parent.cancelled_;
    }

    bool cancelled() const noexcept { return cancelled_; }

    /// Asks this context and all below it to stop. Sticky; idempotent.
    void cancel() noexcept;

    /// For a root whose tasks have all ended: takes new ones.
    void revive() noexcept { cancelled_ = false; }

    /// Ends the current wait, if there is one, without asking the context to stop.
    void interrupt() noexcept {
        if (waiting_ != nullptr) waiting_->cancel();
    }

    void wait_on(waiter& w) noexcept { waiting_ = &w; }
    void done_waiting() noexcept { waiting_ = nullptr; }

    const char* name = "";

private:
    loop* owner_;
    waiter* waiting_ = nullptr;
    intrusive_list<context> children_;
    bool cancelled_ = false;
};

/// Whoever started the first frame of a chain, and learns how the chain ends.
class scope {
public:
    scope() noexcept = default;
    scope(scope&&) noexcept = default;
    /// The frame stands at its final suspend point; gives what to resume next.
    virtual std::coroutine_handle<> finished() noexcept = 0;
    /// The chain was cancelled and waits for nothing any more. Called from the loop; destroys the
    /// frames.
    virtual void stopped() noexcept = 0;

protected:
    ~scope() = default;
};

/// What every frame of ours knows.
struct promise_base {
    std::coroutine_handle<> continuation;
    promise_base* parent = nullptr;
    detail::scope* scope = nullptr;
    detail::context* context = nullptr;
};

/// Ends the chain of which `frame` is the innermost as stopped, up to the nearest scope.
inline void stop_chain(promise_base& frame) noexcept {
    promise_base* f = &frame;
    while (f->scope == nullptr) f = f->parent;
    f->scope->stopped();
}

}  // namespace coracle::detail
