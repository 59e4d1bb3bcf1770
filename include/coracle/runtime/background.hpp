#pragma once

#include <coracle/runtime/callback_on.hpp>
#include <coracle/runtime/detail/background_work.hpp>
#include <coracle/runtime/runtime.hpp>

#include <cstddef>
#include <cstdint>

namespace coracle {

struct background_options {
    /// Event loops, each on a thread of its own; operations go to them in turn. Default 1.
    unsigned loops = 1;
    /// Default: the best one that works here.
    backend_kind backend = backend_kind::automatic;
    /// The logger for the library's messages; must outlive this. Default: warnings and errors, or
    /// what CORACLE_LOG says, to standard error.
    logger* log = nullptr;
    /// Threads that call callbacks. With the default, 1, one callback runs at a time.
    unsigned callback_threads = 1;
    /// Operations under way at most, their callbacks included; more are refused. Default 65,536.
    std::size_t active = 65'536;
    /// The longest time that the destructor waits for operations under way before it cancels them.
    /// Default 30 s.
    duration drain = std::chrono::seconds(30);
};

namespace detail {

/// Makes the future that `background::launch` returns. coracle/runtime/launch.hpp has the
/// definition for callables.
template <class F>
struct launching {
    static_assert(sizeof(F*) == 0,
                  "launch() is defined in another header, which keeps <future> out of this one: "
                  "#include <coracle/runtime/launch.hpp>");
};

}  // namespace detail

/// A call that `background::start` has started. Copies are handles of the same call; the call goes
/// on when all are gone. May be used from any thread.
class background_call {
public:
    explicit background_call(std::shared_ptr<detail::call_state> s) noexcept
        : state_(std::move(s)) {}

    /// Asks the operation to stop. Its callback is called all the same, with
    /// `std::errc::operation_canceled` if that was in time. Does not wait.
    void cancel() const noexcept { state_->source.cancel(); }
    /// Returns true once the callback has returned.
    bool done() const noexcept { return state_->over.is_set(); }
    /// Blocks until it is done. Not on the thread of a loop, nor in its own callback.
    void wait() const noexcept { state_->over.wait(); }
    /// Returns false if `limit` has passed first.
    [[nodiscard]] bool wait_for(duration limit) const noexcept {
        return state_->over.wait_for(limit);
    }

private:
    std::shared_ptr<detail::call_state> state_;
};

/// Operations for programs that have no coroutines: a runtime on threads of its own, to which any
/// thread submits work. Work is a callable that returns a task or an operation; it is owned until
/// its coroutine has ended, and runs on one of the loops. There are four ways to learn of its end:
///
///     background bg;
///     auto page = bg.wait(fetch);                       // blocks
///     std::future<std::string> f = bg.launch(fetch);    // needs coracle/runtime/launch.hpp
///     auto call = bg.start(fetch, [](std::expected<std::string, error> r) { ... });
///     bg.start(fetch).wait();                           // waits for the end, and no more
///
/// Starting never waits for a loop. All four throw `errc::limit_exceeded` beyond
/// `background_options::active`, and `errc::shutting_down` after `stop`, before they have touched
/// what they were given. May be used from any thread; destroyed by one, when no other is inside a
/// call.
class background {
public:
    /// Starts the threads, and returns when all loops run. Throws `exception` when no backend
    /// works, `std::system_error` when a thread cannot be started.
    explicit background(const background_options& options = {});
    /// `stop(options.drain)`. Not in a callback, nor on one of its loops.
    ~background();
    background(const background&) = delete;
    background& operator=(const background&) = delete;

    /// Runs `f()`, waits for it, gives what it gives and throws what it throws. Not on the thread
    /// of a loop.
    template <class F>
    auto wait(F&& f) {
        using T = detail::await_result<std::invoke_result_t<std::decay_t<F>&>>;
        assert(loop::current() == nullptr);
        call_slot place(*this);
        struct outcome {
            detail::settled<T> settled;
            detail::thread_event over;
        } result;
        auto done = [&result](detail::settled<T>& s) {
            try {
                result.settled = std::move(s);
            } catch (...) {
                result.settled.failure = std::current_exception();
            }
            result.over.set();
        };
        run<T>(place, std::forward<F>(f), done, callback_on::loop, nullptr);
        result.over.wait();
        return result.settled.take();
    }

    /// Runs `f()`; the future has what it gives or throws. Defined in coracle/runtime/launch.hpp,
    /// which keeps <future> out of here.
    template <class F>
    auto launch(F&& f) {
        return detail::launching<std::decay_t<F>>::begin(*this, std::forward<F>(f));
    }

    /// Runs `f()`, then calls `callback` with a `std::expected<T, error>`, exactly once, also when
    /// `f` was cancelled or never came to run. An exception of `f` that is no `coracle::exception`
    /// becomes `std::errc::state_not_recoverable` with its text. What `callback` throws is counted
    /// and logged. A callback may start other calls.
    template <class F, class Callback>
    background_call start(F&& f, Callback&& callback,
                          callback_on where = callback_on::callback_thread) {
        using T = detail::await_result<std::invoke_result_t<std::decay_t<F>&>>;
        call_slot place(*this);
        auto call = std::make_shared<detail::call_state>();
        auto done = [callback = std::decay_t<Callback>(std::forward<Callback>(callback))](
                        detail::settled<T>& s) mutable { callback(s.result()); };
        run<T>(place, std::forward<F>(f), std::move(done), where, call);
        return background_call(std::move(call));
    }
    /// Starts `f` without a callback.
    template <class F>
    background_call start(F&& f) {
        using T = detail::await_result<std::invoke_result_t<std::decay_t<F>&>>;
        call_slot place(*this);
        auto call = std::make_shared<detail::call_state>();
        auto done = [](detail::settled<T>&) {};
        run<T>(place, std::forward<F>(f), done, callback_on::loop, call);
        return background_call(std::move(call));
    }

    /// Takes no more work, waits for `limit` at most until what is under way is over, cancels the
    /// rest, and waits for that. Returns true if it had to cancel. Once; later calls give false.
    /// Not in a callback, nor on one of its loops.
    bool stop(duration limit);

    /// Calls under way, most at a time so far, callbacks that threw.
    std::size_t active() const noexcept;
    std::size_t peak() const noexcept;
    std::uint64_t failed_callbacks() const noexcept;

private:
    template <class F>
    friend struct detail::launching;

    /// The place of one call among those under way; given back unless the call is posted.
    class call_slot {
    public:
        /// Throws when no more are taken.
        explicit call_slot(background& b) : background_(&b), home_(&b.call_begins()) {}
        call_slot(const call_slot&) = delete;
        call_slot& operator=(const call_slot&) = delete;
        ~call_slot() {
            if (home_ != nullptr) background_->call_begun(false);
        }
        loop& enter() noexcept { return *std::exchange(home_, nullptr); }

    private:
        background* background_;
        loop* home_;
    };

    template <class T, class F, class Done>
    void run(call_slot& place, F&& f, Done done, callback_on where,
             std::shared_ptr<detail::call_state> call) {
        using Work = detail::background_work<T, std::decay_t<F>, Done>;
        auto work = std::make_unique<Work>(keeper(), std::forward<F>(f), std::move(done), where,
                                           std::move(call));
        work.release()->post_to(place.enter());
        call_begun(true);
    }
    detail::call_keeper& keeper() noexcept;
    loop& call_begins();
    void call_begun(bool posted) noexcept;

    class core;
    std::unique_ptr<core> core_;
};

}  // namespace coracle
