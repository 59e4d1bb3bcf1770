#pragma once

#include <coracle/runtime/spawn.hpp>

#include <concepts>

namespace coracle {

class delayed_call;

namespace detail {

/// A plain function that waits for its time, on the heap; destroys itself.
class pending_call : waiter, timer, runnable, public pooled {
public:
    pending_call(const pending_call&) = delete;
    pending_call& operator=(const pending_call&) = delete;
    virtual ~pending_call() = default;

    void arm(time_point due);
    /// Cancels the call, and destroys it at once.
    void drop() noexcept;

protected:
    explicit pending_call(loop& owner) : context_(owner, &owner.root()) {}

private:
    friend class coracle::delayed_call;

    virtual void call() = 0;
    void expired() noexcept override;
    void cancel() noexcept override;
    const char* waits_for() const noexcept override { return "its time"; }
    void run() noexcept override { drop(); }

    context context_;
    delayed_call* handle_ = nullptr;
};

template <class F>
class pending_function final : public pending_call {
public:
    pending_function(loop& owner, F f) : pending_call(owner), f_(std::move(f)) {}

private:
    void call() override { static_cast<void>(f_()); }
    F f_;
};

}  // namespace detail

/// The handle returned by `call_after`: it cancels the call when it is destroyed, unless it was
/// detached. Belongs to the loop of the call.
class [[nodiscard]] delayed_call {
public:
    delayed_call() noexcept = default;
    explicit delayed_call(detail::pending_call& c) noexcept;
    delayed_call(delayed_call&& other) noexcept { take(other); }
    delayed_call& operator=(delayed_call&& other) noexcept {
        if (this != &other) {
            cancel();
            take(other);
        }
        return *this;
    }
    ~delayed_call() { cancel(); }

    /// Returns true until the call has been made or cancelled.
    bool pending() const noexcept { return call_ != nullptr; }
    /// The function is destroyed without being called, before this returns. Harmless when it was
    /// called already, and inside it.
    void cancel() noexcept {
        if (call_ != nullptr) call_->drop();
    }
    /// Lets the call come without a handle.
    void detach() noexcept {
        if (call_ != nullptr) std::exchange(call_, nullptr)->handle_ = nullptr;
    }

private:
    friend class detail::pending_call;
    void take(delayed_call& other) noexcept;
    detail::pending_call* call_ = nullptr;
};

/// Has the loop of this thread call `f()`, a plain function, once `d` has passed: never early, in
/// exact order with other timers, in the next turn when `d` is not positive. `f` is owned until
/// then. What it throws is logged. A loop that stops destroys `f` without calling it. Throws
/// `exception` (errc::no_loop) on a thread without a loop.
template <class F>
    requires std::is_invocable_v<std::decay_t<F>&>
delayed_call call_after(duration d, F&& f) {
    using Stored = std::decay_t<F>;
    static_assert(!detail::awaitable<std::invoke_result_t<Stored&>>,
                  "call_after calls plain functions: give it one that spawns the coroutine");
    loop& l = detail::loop_here("call_after");
    auto call = std::make_unique<detail::pending_function<Stored>>(l, std::forward<F>(f));
    call->arm(detail::later(l.now(), d));
    return delayed_call(*call.release());
}

}  // namespace coracle
