#pragma once

#include <coracle/runtime/callback_on.hpp>
#include <coracle/runtime/cancel_source.hpp>
#include <coracle/runtime/thread_pool.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>

namespace coracle {

class background;

namespace detail {

/// The result of a call. Without a value, `problem` says why; `failure` is the exception that was
/// thrown, or null.
template <class T>
struct settled {
    std::optional<std::conditional_t<std::is_void_v<T>, unit, T>> value;
    error problem;
    std::exception_ptr failure;

    T take() {
        if (failure != nullptr) std::rethrow_exception(failure);
        if (!value) throw_exception(problem);
        if constexpr (!std::is_void_v<T>) return *std::move(value);
    }
    std::expected<T, error> result() {
        if (!value) return std::unexpected(std::move(problem));
        if constexpr (std::is_void_v<T>)
            return {};
        else
            return *std::move(value);
    }
};

/// The error that stands for what a task has thrown.
error error_of(const std::exception_ptr& thrown) noexcept;

/// The state that a call shares with the handle returned by `background::start`.
struct call_state {
    cancel_state source;
    thread_event over;
};

/// The services that `background` renders its calls, on any thread.
class call_keeper {
public:
    /// Called on the loop: `r` waits, and is enqueued there when the loop stops, unless it leaves
    /// before.
    virtual void waits(runnable& r, loop& home) noexcept = 0;
    /// Returns true if `job` will be executed on a callback thread.
    virtual bool call_back(pool_job& job) noexcept = 0;
    virtual void callback_failed() noexcept = 0;
    /// The last that a call does with it.
    virtual void call_ended() noexcept = 0;

protected:
    ~call_keeper() = default;
};

/// Receives, on the loop, the notice that deferred work may begin. The work begins in a later turn.
class admission {
public:
    virtual void admitted() noexcept = 0;

protected:
    ~admission() = default;
};

/// A callable that may have to wait for admission, without a coroutine of its own. The loop calls
/// `admit` once before it calls the callable: true lets it begin at once; after false the callable
/// calls `admitted` later. `withdraw` (or the destructor, on the loop) cancels the request, before
/// admission or between admission and the call.
template <class F>
concept takes_turns = requires(F& f, admission& a) {
    { f.admit(a) } noexcept -> std::same_as<bool>;
    { f.withdraw() } noexcept;
};

/// One call: owned by itself from when it is posted. `Done` is called with its `settled`, once.
/// Small until it begins, for as many may wait as there is memory for.
template <class T, class F, class Done>
class background_work final : remote_runnable, runnable, pool_job, admission {
public:
    background_work(call_keeper& k, F f, Done done, callback_on where,
                    std::shared_ptr<call_state> state)
        : keeper_(&k), f_(std::move(f)), done_(std::move(done)), where_(where),
          state_(std::move(state)), link_(*this), make_(&background_work::make) {}

    void post_to(loop& home) noexcept {
        if (!home.post(static_cast<remote_runnable&>(*this))) dropped();
    }

private:
    /// Notified when the call is cancelled.
    struct cancellation final : cancel_link {
        explicit cancellation(background_work& w) noexcept : work(&w) {}
        using cancel_link::attach;
        using cancel_link::detach;
        void cancelled_from_outside() noexcept override { work->cancelled(); }
        background_work* work;
    };

    /// The parts of a call that exist only once it has begun.
    struct begun final : child<T>, pooled {
        explicit begun(background_work& w) noexcept : work(&w) {}
        std::coroutine_handle<> ended() noexcept override {
            work->task_ended();
            return std::noop_coroutine();
        }
        background_work* work;
        settled<T> result;
    };

    task<T> make() {
        if constexpr (std::is_nothrow_invocable_v<F&> && is_task<std::invoke_result_t<F&>>) {
            return (*f_)();
        } else {
            return call();
        }
    }
    task<T> call() { co_return co_await (*f_)(); }

    void arrived() noexcept override {
        home_ = loop::current();
        home_->detached_started();
        const bool wanted = !home_->root().cancelled() &&
                            (state_ == nullptr || link_.attach(state_->source, *home_));
        if (!wanted) {
            end();
            return;
        }
        if constexpr (takes_turns<F>) {
            if (!f_->admit(*this)) {
                keeper_->waits(*this, *home_);
                return;
            }
        }
        begin();
    }
    void dropped() noexcept override {
        f_.reset();
        deliver();
    }
    void admitted() noexcept override { goes_on(); }

    /// Enqueues the work: it stands in the list of those that wait, in that of the loop, or in
    /// none.
    void goes_on() noexcept {
        runnable& self = *this;
        self.unlink();
        home_->enqueue(self);
    }

    void begin() noexcept {
        task<T> work;
        try {
            begun_ = std::make_unique<begun>(*this);
            work = (this->*make_)();
        } catch (const std::bad_alloc&) {
            begun_.reset();
            has_no_memory_ = true;
            if (leave_source()) end();
            return;
        }
        begun_->begin(std::move(work), *home_, &home_->root(), "background").resume();
    }
    void cancelled() noexcept {
        cancelled_ = true;
        if (begun_ != nullptr && !over_) {
            begun_->cancel();
            return;
        }
        if constexpr (takes_turns<F>) {
            if (!over_) f_->withdraw();
        }
        goes_on();
    }
    /// Returns false if a cancellation is on its way: `cancelled` follows.
    bool leave_source() noexcept { return state_ == nullptr || link_.detach(); }

    void task_ended() noexcept {
        over_ = true;
        // The frame stands at its final suspend point and must not be destroyed from within itself.
        if (leave_source()) goes_on();
    }
    void run() noexcept override {
        if (over_) {
            settle();
            begun_->destroy();
            end();
        } else if (!cancelled_ && !home_->root().cancelled()) {
            begin();
        } else if (cancelled_ || leave_source()) {
            end();
        }
    }
    void end() noexcept {
        // Captures may refer to what goes when the callback has been called.
        f_.reset();
        home_->detached_ended();
        deliver();
    }

    void settle() noexcept {
        settled<T>& result = begun_->result;
        if (begun_->was_stopped()) {
            result.problem = stopped_error("background");
            return;
        }
        try {
            if constexpr (std::is_void_v<T>) {
                begun_->take();
                result.value.emplace();
            } else {
                result.value.emplace(begun_->take());
            }
        } catch (...) {
            result.failure = std::current_exception();
            result.problem = error_of(result.failure);
        }
    }

    void deliver() noexcept {
        if (where_ == callback_on::callback_thread && keeper_->call_back(*this)) return;
        execute();
    }
    void execute() noexcept override {
        call_keeper& keeper = *keeper_;
        const std::shared_ptr<call_state> state = std::move(state_);
        try {
            if (begun_ != nullptr) {
                done_(begun_->result);
            } else {
                settled<T> none;
                none.problem = has_no_memory_ ? error(std::errc::not_enough_memory, "background")
                                              : stopped_error("background");
                done_(none);
            }
        } catch (...) {
            keeper.callback_failed();
        }
        delete this;
        if (state != nullptr) state->over.set();
        keeper.call_ended();
    }
    void wake() noexcept override {}

    call_keeper* keeper_;
    std::optional<F> f_;
    Done done_;
    callback_on where_;
    bool cancelled_ = false;
    bool over_ = false;  ///< its task has ended
    bool has_no_memory_ = false;
    std::shared_ptr<call_state> state_;
    cancellation link_;
    loop* home_ = nullptr;
    // Named where the user's code is compiled: g++ 12 warns of coroutines of unnamed types that
    // only a virtual function leads to.
    task<T> (background_work::*make_)();
    std::unique_ptr<begun> begun_;
};

}  // namespace detail
}  // namespace coracle
