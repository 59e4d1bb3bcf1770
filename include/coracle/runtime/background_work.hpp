#pragma once

#include <coracle/runtime/cancel_source.hpp>
#include <coracle/runtime/thread_pool.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <type_traits>

namespace coracle {

class background;

/// Where a callback is called.
enum class callback_on : std::uint8_t {
    callback_thread,  ///< a thread that loops do not wait for: it may take its time
    loop,             ///< the loop that ran the operation: soonest, but everything waits for it
};

namespace detail {

/// How a call ended. Without a value `problem` says why not; `failure` is what was thrown, or null.
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

/// What a call shares with the handle that `background::start` gives.
struct call_state {
    cancel_source source;
    thread_event over;
};

/// What the `background` does for its calls, on any thread.
class call_keeper {
public:
    /// True when `job` will be executed on a callback thread.
    virtual bool call_back(pool_job& job) noexcept = 0;
    virtual void callback_failed() noexcept = 0;
    /// The last that a call does with it.
    virtual void call_ended() noexcept = 0;

protected:
    ~call_keeper() = default;
};

/// One call: owned by itself from when it is posted. `Done` is called with its `settled`, once.
template <class T, class F, class Done>
class background_work final : child<T>, remote_runnable, runnable, pool_job {
public:
    background_work(call_keeper& k, F f, Done done, callback_on where,
                    std::shared_ptr<call_state> state)
        : keeper_(&k), f_(std::move(f)), done_(std::move(done)), where_(where),
          state_(std::move(state)), make_(&background_work::make) {}

    void post_to(loop& home) noexcept {
        if (!home.post(static_cast<remote_runnable&>(*this))) dropped();
    }

private:
    task<T> make() { return state_ != nullptr ? run_cancellable() : run_alone(); }
    task<T> run_alone() { co_return co_await (*f_)(); }
    task<T> run_cancellable() {
        const auto call = [this] { return (*f_)(); };
        co_return co_await with_cancel(state_->source, call);
    }

    void arrived() noexcept override {
        home_ = loop::current();
        home_->detached_started();
        this->begin((this->*make_)(), *home_, &home_->root(), "background").resume();
    }
    void dropped() noexcept override {
        settled_.problem = stopped_error("background");
        deliver();
    }

    std::coroutine_handle<> ended() noexcept override {
        // The frame stands at its final suspend point and must not be destroyed beneath itself.
        home_->enqueue(static_cast<runnable&>(*this));
        return std::noop_coroutine();
    }
    void run() noexcept override {
        settle();
        this->destroy();
        // Captures may refer to what goes when the callback has been called.
        f_.reset();
        home_->detached_ended();
        deliver();
    }

    void settle() noexcept {
        if (this->was_stopped()) {
            settled_.problem = stopped_error("background");
            return;
        }
        try {
            if constexpr (std::is_void_v<T>) {
                this->take();
                settled_.value.emplace();
            } else {
                settled_.value.emplace(this->take());
            }
        } catch (...) {
            settled_.failure = std::current_exception();
            settled_.problem = error_of(settled_.failure);
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
            done_(settled_);
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
    std::shared_ptr<call_state> state_;
    loop* home_ = nullptr;
    // Named where the user's code is compiled: g++ 12 warns of coroutines of unnamed types that
    // only a virtual function leads to.
    task<T> (background_work::*make_)();
    settled<T> settled_;
};

}  // namespace detail
}  // namespace coracle
