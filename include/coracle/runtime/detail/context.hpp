#pragma once

#include <coracle/base/detail/intrusive_list.hpp>
#include <coracle/runtime/clock.hpp>

#include <coroutine>
#include <cstdint>
#include <utility>

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
    /// The name of the operation that the task waits for, for reports: a literal.
    virtual const char* waits_for() const noexcept = 0;

protected:
    ~waiter() = default;
};

/// The part of a context that each wait touches, in one cache line.
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
        parent_ = &parent;
        cancelled_ = parent.cancelled_;
    }

    /// Makes this a child of `parent` in reports, without being cancelled with it.
    void attach_isolated(context& parent) noexcept {
        parent.children_.push_back(*this);
        parent_ = &parent;
        isolated_ = true;
    }

    bool cancelled() const noexcept { return cancelled_; }

    /// Asks this context and all below it to stop. Sticky; idempotent.
    void cancel() noexcept;

    /// Asks each child to stop, isolated ones too.
    void cancel_children() noexcept;

    /// Lets a root whose tasks have all ended take new ones.
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
    void cancel_this() noexcept;
    context* first_to_cancel(context* from) noexcept;

    intrusive_list<context> children_;
    context* parent_ = nullptr;  ///< in whose list this stands; not followed once it has left it
};

struct promise_base;

/// A deadline of a scope, and the frame that it stands in; null: in none.
struct limit_step {
    time_point due = time_point::max();
    const promise_base* around = nullptr;
    bool outer_count = true;  ///< deadlines around that frame count too
};

/// The starter of the first frame of a chain, which is notified of how the chain ends.
class scope {
public:
    scope() noexcept = default;
    scope(scope&&) noexcept = default;
    /// The frame stands at its final suspend point; gives what to resume next.
    virtual std::coroutine_handle<> finished() noexcept = 0;
    /// The chain was cancelled and waits for nothing any more. Called from the loop; destroys what
    /// is left of it. Returns the frame that awaits the scope when that has to be stopped too.
    virtual promise_base* stopped() noexcept = 0;
    /// The deadline that was set here around the chain, and where the next one out is.
    virtual limit_step time_limit() const noexcept { return {}; }

protected:
    ~scope() = default;
};

/// Owns a coroutine frame, and destroys it.
class owned_frame {
public:
    owned_frame() noexcept = default;
    explicit owned_frame(std::coroutine_handle<> h) noexcept : frame_(h) {}
    owned_frame(owned_frame&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
    owned_frame& operator=(owned_frame&& other) noexcept {
        if (this != &other) {
            reset();
            frame_ = std::exchange(other.frame_, nullptr);
        }
        return *this;
    }
    ~owned_frame() { reset(); }

    std::coroutine_handle<> get() const noexcept { return frame_; }
    void reset() noexcept {
        if (frame_) std::exchange(frame_, nullptr).destroy();
    }

private:
    std::coroutine_handle<> frame_;
};

/// The base of the promise of every coroutine of this library.
struct promise_base {
    std::coroutine_handle<> continuation;
    promise_base* parent = nullptr;
    owned_frame* holder = nullptr;  ///< of a frame without a scope, in the frame of the parent
    detail::scope* scope = nullptr;
    detail::context* context = nullptr;
};

/// The nearest deadline that stands around `frame`.
inline time_point time_limit_of(const promise_base& frame) noexcept {
    time_point nearest = time_point::max();
    for (const promise_base* f = &frame; f != nullptr;) {
        while (f->scope == nullptr) f = f->parent;
        const limit_step step = f->scope->time_limit();
        if (step.due < nearest) nearest = step.due;
        f = step.outer_count ? step.around : nullptr;
    }
    return nearest;
}

/// Ends the chain of which `frame` is the innermost as stopped, up to the nearest scope that does
/// not pass it on. Destroys the frames one after another: nested destruction would need a stack as
/// deep as the chain. The caller may run in `frame`, and so may be destroyed when this returns.
inline void stop_chain(promise_base& frame) noexcept {
    promise_base* f = &frame;
    while (f != nullptr) {
        if (f->scope != nullptr) {
            f = f->scope->stopped();
        } else {
            owned_frame& holder = *f->holder;
            f = f->parent;
            holder.reset();
        }
    }
}

}  // namespace coracle::detail
