#pragma once

#include <coracle/base/intrusive_list.hpp>
#include <coracle/runtime/clock.hpp>

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
    /// What it waits for, for reports: a literal.
    virtual const char* waits_for() const noexcept = 0;

protected:
    ~waiter() = default;
};

/// What each wait of a context touches, in one line of the cache.
struct context_of_wait {
    loop* owner_;
    waiter* waiting_ = nullptr;
    const char* name = "";
    time_point since_{};
    bool cancelled_ = false;
    bool isolated_ = false;
};

/// A line of execution: a chain of frames of which one waits. Contexts form the tree along which
/// cancellation travels. Belongs to one loop.
class context : context_of_wait, public list_hook {
public:
    context(loop& owner, context* parent) noexcept : context_of_wait(&owner) {
        if (parent != nullptr) attach(*parent);
    }
    ~context() = default;

    loop& owner() const noexcept { return *owner_; }

    /// Makes this a child of `parent`, so that cancelling the parent cancels it.
    void attach(context& parent) noexcept {
        parent.children_.push_back(*this);
        cancelled_ = parent.cancelled_;
    }

    /// Makes this stand beneath `parent` in reports, without being cancelled with it.
    void attach_isolated(context& parent) noexcept {
        parent.children_.push_back(*this);
        isolated_ = true;
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

    void wait_on(waiter& w, time_point now) noexcept {
        waiting_ = &w;
        since_ = now;
    }
    void done_waiting() noexcept { waiting_ = nullptr; }

    // For reports.
    const waiter* waiting() const noexcept { return waiting_; }
    time_point waiting_since() const noexcept { return since_; }
    intrusive_list<context>& children() noexcept { return children_; }

    using context_of_wait::name;

private:
    intrusive_list<context> children_;
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
    /// The nearest deadline of those that were set around the chain; max when there is none.
    virtual time_point time_limit() const noexcept { return time_point::max(); }

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

/// The nearest deadline that stands around `frame`.
inline time_point time_limit_of(const promise_base& frame) noexcept {
    const promise_base* f = &frame;
    while (f->scope == nullptr) f = f->parent;
    return f->scope->time_limit();
}

/// Ends the chain of which `frame` is the innermost as stopped, up to the nearest scope.
inline void stop_chain(promise_base& frame) noexcept {
    promise_base* f = &frame;
    while (f->scope == nullptr) f = f->parent;
    f->scope->stopped();
}

}  // namespace coracle::detail
