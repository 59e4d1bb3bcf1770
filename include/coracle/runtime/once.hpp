#pragma once

#include <coracle/runtime/detail/child.hpp>

#include <cstdint>
#include <utility>

namespace coracle {

class once;

namespace detail {

/// Waits until the work of a `once` is done (false) or this task's to try (true).
class [[nodiscard]] once_turn final : public leaf<once_turn, bool> {
public:
    static constexpr const char* name = "once";
    explicit once_turn(once& o) noexcept : once_(&o) {}
    bool start() noexcept;
    void cancel() noexcept override;
    std::expected<bool, error> result() const noexcept { return mine_; }

private:
    friend class coracle::once;
    enum class state : std::uint8_t { waiting, woken, cancelled };
    once* once_;
    state at_ = state::waiting;
    bool mine_ = false;
};

}  // namespace detail

/// Work that is done once, by whichever task of a loop comes first, while the others wait for it:
///
///     co_await ready.run(connect);
///
/// When it throws or is cancelled, the next one tries. No task may wait when it is destroyed.
class once {
public:
    once() noexcept = default;
    once(const once&) = delete;
    once& operator=(const once&) = delete;

    bool done() const noexcept { return state_ == state::done; }

    /// Completes when `f()`, which gives a task or an operation, has completed here or in another
    /// task. Throws what `f` throws here. `f` is owned until then, and called only where it is
    /// needed. Resumes inside `f` or from the loop. Cancelling it cancels `f` where it runs here,
    /// and lets the next one try.
    template <class F>
    task<> run(F&& f) {
        CORACLE_REQUIRE_SAFE_IN_AWAIT(F);
        return run_owned<std::decay_t<F>>(*this, std::forward<F>(f));
    }

private:
    friend class detail::once_turn;
    enum class state : std::uint8_t { idle, running, done };

    /// The task that runs the initialization; reports how it went, at the latest when its frame is
    /// destroyed.
    class attempt {
    public:
        explicit attempt(once& o) noexcept : once_(&o) {}
        attempt(const attempt&) = delete;
        attempt& operator=(const attempt&) = delete;
        ~attempt() {
            if (once_ != nullptr) once_->failed();
        }
        void succeed() noexcept { std::exchange(once_, nullptr)->succeeded(); }

    private:
        once* once_;
    };

    template <class F>
    static task<> run_owned(once& self, F f) {
        if (self.done()) co_return;
        const bool mine = co_await detail::once_turn(self);
        if (!mine) co_return;
        attempt trial(self);
        co_await f();
        trial.succeed();
    }

    void succeeded() noexcept;
    void failed() noexcept;
    void wake(detail::once_turn& t, bool mine) noexcept;

    intrusive_list<detail::runnable> waiting_;
    state state_ = state::idle;
};

}  // namespace coracle
