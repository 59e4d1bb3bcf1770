#pragma once

#include <coracle/runtime/detail/child.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace coracle {

namespace detail {

/// A child on the heap that owns the callable whose coroutine it runs, and destroys itself.
class spawned : public child<void>, public runnable, public pooled {
public:
    virtual ~spawned() = default;

protected:
    /// Starts `work`: at once, but tasks that start tasks do not nest on the stack without end.
    void launch(task<> work, loop& owner, context& parent, const char* name) {
        resume_soon(begin(std::move(work), owner, &parent, name), owner);
    }
    void resume_soon(std::coroutine_handle<> first, loop& owner) {
        if (!owner.may_start_inline()) {
            first_ = first;
            owner.enqueue(*this);
            return;
        }
        owner.start_spawned(first);
        owner.start_ended();
    }

    /// The task has ended; called from the loop, after which the object is destroyed.
    virtual void over() noexcept = 0;

private:
    std::coroutine_handle<> ended() noexcept override {
        // The frame stands at its final suspend point and must not be destroyed from within itself.
        own_context().owner().enqueue(*this);
        return std::noop_coroutine();
    }
    void run() noexcept override {
        if (first_) {
            std::exchange(first_, nullptr).resume();
            return;
        }
        over();
        delete this;
    }

    std::coroutine_handle<> first_;
};

void log_unhandled(loop& owner, const char* name, std::exception_ptr e) noexcept;

template <class F>
class detached : public spawned {
public:
    explicit detached(F f) : f_(std::move(f)) {}
    task<> make() { return to_task(f_()); }
    void start(task<> work, loop& owner, const char* name) {
        owner.detached_started();
        launch(std::move(work), owner, owner.root(), name);
    }

protected:
    /// Logs the exception that has left it.
    loop& finish() noexcept {
        loop& owner = own_context().owner();
        if (auto e = exception()) log_unhandled(owner, own_context().name, e);
        return owner;
    }

private:
    void over() noexcept override { finish().detached_ended(); }

    F f_;
};

/// Calls `f` inside the task, which then throws what the call throws.
template <class F>
struct called_inside {
    F f;
    task<> operator()() { static_cast<void>(co_await f()); }
};

template <class F>
concept coroutine_source = std::is_invocable_v<F&> && awaitable<std::invoke_result_t<F&>>;

}  // namespace detail

/// Starts `f()`, which gives a task, as a detached task of this loop, at once and until its first
/// wait; where tasks start tasks more than 32 deep, in the next turn. `f` is owned until the task
/// has ended, so a capturing lambda is safe. The task is cancelled and awaited when the loop stops;
/// an exception that leaves it is logged. A task itself is not accepted: what it refers to might be
/// gone before it ends. Throws `exception` (errc::no_loop) on a thread without a loop.
template <class F>
    requires detail::coroutine_source<std::decay_t<F>>
void spawn(F&& f, const char* name = "spawned") {
    loop& here = detail::loop_here("spawn");
    auto d = std::make_unique<detail::detached<std::decay_t<F>>>(std::forward<F>(f));
    task<> work = d->make();
    d.release()->start(std::move(work), here, name);
}

template <class A>
    requires detail::awaitable<std::decay_t<A>>
void spawn(A&&, const char* = "") = delete;  // give a callable that makes the task, or operation

/// `spawn` on another loop, from any thread: `f` is moved there, called there and destroyed there.
/// An exception that it throws before there is a task is logged too. Returns false, and `f` is
/// destroyed, when that loop has ended; one that ends before its turn comes destroys `f` without
/// calling it.
template <class F>
    requires detail::coroutine_source<std::decay_t<F>>
bool spawn_on(loop& there, F&& f, const char* name = "spawned") {
    using Stored = std::decay_t<F>;
    return there.post([f = detail::called_inside<Stored>{std::forward<F>(f)}, name]() mutable {
        try {
            spawn(std::move(f), name);
        } catch (...) {  // no memory for the task
            detail::log_unhandled(*loop::current(), name, std::current_exception());
        }
    });
}

template <class A>
    requires detail::awaitable<std::decay_t<A>>
bool spawn_on(loop&, A&&, const char* = "") = delete;  // give a callable, as to spawn

}  // namespace coracle
