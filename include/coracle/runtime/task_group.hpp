#pragma once

#include <coracle/runtime/spawn.hpp>

namespace coracle {

class task_group;

namespace detail {

template <class T, class F>
class group_operation;

/// Waits for a place in a group, and holds it then.
class place_wait final : public leaf<place_wait, void> {
public:
    static constexpr const char* name = "task_group place";
    explicit place_wait(task_group& g) noexcept : group_(&g) {}
    bool start() noexcept;
    void cancel() noexcept override;
    std::expected<void, error> result() const noexcept { return {}; }

private:
    friend class coracle::task_group;
    task_group* group_;
    bool has_place_ = false;
};

template <class F>
class spawn_when_free_operation;

}  // namespace detail

/// Tasks that live no longer than the block that `with_task_group` runs. Belongs to one loop.
class task_group {
public:
    static constexpr std::size_t unlimited = ~std::size_t{0};

    task_group() noexcept = default;
    task_group(const task_group&) = delete;
    task_group& operator=(const task_group&) = delete;

    /// Starts `f()` as a task of the group, at once and until its first wait (as `coracle::spawn`),
    /// whatever the limit. `f` is owned until the task has ended. When the task throws, the whole
    /// group is cancelled and `with_task_group` throws that exception.
    template <class F>
        requires detail::coroutine_source<std::decay_t<F>>
    void spawn(F&& f, const char* name = "task_group") {
        auto m = std::make_unique<member<std::decay_t<F>>>(*this, std::forward<F>(f));
        task<> work = m->make();
        ++size_;
        m.release()->start(std::move(work), name);
    }

    /// Spawns `f` if fewer tasks than the limit run and no task waits for a place; else returns
    /// false and leaves `f` as it was.
    template <class F>
        requires detail::coroutine_source<std::decay_t<F>>
    bool try_spawn(F&& f, const char* name = "task_group") {
        if (!has_place()) return false;
        spawn(std::forward<F>(f), name);
        return true;
    }

    /// Waits until fewer tasks than the limit run, then does what `spawn` does. Those that wait get
    /// their places in the order in which they came. For the block and the tasks of the group; a
    /// task keeps its own place meanwhile. Completes with the start of the task, at once where
    /// there is a place, else from the loop. Cancelling it ends the wait; `f` is not called then.
    template <class F>
        requires detail::coroutine_source<std::decay_t<F>>
    detail::spawn_when_free_operation<std::decay_t<F>> spawn_when_free(
        F&& f, const char* name = "task_group");

    /// The most tasks that `spawn_when_free` and `try_spawn` let run at a time. Default: unlimited.
    /// With 0 they wait until it is raised.
    void limit(std::size_t most) noexcept {
        limit_ = most;
        give_places();
    }
    std::size_t limit() const noexcept { return limit_; }

    /// Asks all tasks of the group, and the block, to stop.
    void cancel() noexcept { context_->cancel(); }

    /// The tasks that have not ended.
    std::size_t size() const noexcept { return size_; }

private:
    template <class T, class F>
    friend class detail::group_operation;
    template <class F>
    friend class detail::spawn_when_free_operation;
    friend class detail::place_wait;

    template <class F>
    class member final : public detail::spawned {
    public:
        member(task_group& g, F f) : group_(&g), f_(std::move(f)) {}
        task<> make() { return detail::to_task((*f_)()); }
        void start(task<> work, const char* name) {
            detail::context& parent = *group_->context_;
            this->launch(std::move(work), parent.owner(), parent, name);
        }

    private:
        void over() noexcept override {
            auto e = this->exception();
            this->destroy();
            // Captures may refer to what the awaiter of the group destroys when it goes on.
            f_.reset();
            group_->member_ended(e);
        }
        detail::limit_step time_limit() const noexcept override {
            return {.around = group_->awaiter_};
        }
        task_group* group_;
        std::optional<F> f_;
    };

    bool below_limit() const noexcept { return size_ < limit_ && reserved_ < limit_ - size_; }
    bool has_place() const noexcept { return below_limit() && waiting_.empty(); }
    void give_places() noexcept;
    void member_ended(const std::exception_ptr& e) noexcept;

    detail::context* context_ = nullptr;
    const detail::promise_base* awaiter_ = nullptr;
    detail::runnable* emptied_ = nullptr;
    std::exception_ptr failure_;
    std::size_t size_ = 0;
    std::size_t limit_ = unlimited;
    std::size_t reserved_ = 0;
    intrusive_list<detail::runnable> waiting_;
};

namespace detail {

/// The awaitable returned by `task_group::spawn_when_free`.
template <class F>
class [[nodiscard]] spawn_when_free_operation final {
public:
    spawn_when_free_operation(task_group& g, F f, const char* name)
        : place_(g), group_(&g), f_(std::move(f)), name_(name) {}

    void give_errors() noexcept { place_.give_errors(); }
    bool await_ready() const noexcept { return false; }
    template <task_promise P>
    bool await_suspend(std::coroutine_handle<P> h) noexcept {
        return place_.await_suspend(h);
    }
    void await_resume() {
        place_.await_resume();
        start();
    }
    std::expected<void, error> outcome() {
        auto r = place_.outcome();
        if (r) start();
        return r;
    }

private:
    /// Passes the place on to the next, also when `f` throws before there is a task.
    struct release {
        task_group* group;
        ~release() { group->give_places(); }
    };
    void start() {
        const release after{group_};
        --group_->reserved_;
        group_->spawn(std::move(f_), name_);
    }

    place_wait place_;
    task_group* group_;
    F f_;
    const char* name_;
};

template <class T, class F>
class [[nodiscard]] group_operation final : public joint, child<T> {
public:
    group_operation(std::size_t limit, F f) : f_(std::move(f)), limit_(limit), resumption_(*this) {}
    // Each base moves only its own part.
    // NOLINTBEGIN(bugprone-use-after-move)
    group_operation(group_operation&& other) noexcept
        : joint(std::move(other)), child<T>(std::move(other)), f_(std::move(other.f_)),
          limit_(other.limit_), resumption_(*this) {}
    // NOLINTEND(bugprone-use-after-move)

    bool await_ready() const noexcept { return false; }

    template <task_promise P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        this->joins(h);
        body_context_.emplace(this->owner(), &this->parent());
        body_context_->name = "with_task_group";
        group_.context_ = &*body_context_;
        group_.awaiter_ = &h.promise();
        group_.limit_ = limit_;
        return this->begin(call(), this->owner(), &*body_context_, "with_task_group");
    }

    T await_resume() {
        if (group_.failure_ != nullptr) std::rethrow_exception(group_.failure_);
        return value_of<T>(*this, "with_task_group");
    }

    std::expected<T, error> outcome() {
        try {
            if (group_.failure_ != nullptr) std::rethrow_exception(group_.failure_);
        } catch (const exception& e) {
            return std::unexpected(e.error());
        }
        return outcome_of<T>(*this, "with_task_group");
    }

private:
    struct resumption final : coracle::detail::runnable {
        explicit resumption(group_operation& o) noexcept : operation(&o) {}
        void run() noexcept override { operation->conclude().resume(); }
        group_operation* operation;
    };

    /// Calls `f`. When it throws before there is a task, those that it has spawned are still
    /// awaited.
    task<T> call() { co_return co_await f_(group_); }

    std::coroutine_handle<> ended() noexcept override {
        const std::exception_ptr thrown = this->exception();
        if (thrown != nullptr && group_.failure_ == nullptr) group_.failure_ = thrown;
        if (this->was_stopped() || thrown != nullptr) body_context_->cancel();
        if (group_.size_ == 0) return conclude();
        group_.emptied_ = &resumption_;
        return std::noop_coroutine();
    }
    limit_step time_limit() const noexcept override { return this->awaiter_limit(); }

    std::coroutine_handle<> conclude() noexcept {
        body_context_->unlink();
        return this->finish(this->was_stopped() && group_.failure_ == nullptr);
    }

    F f_;
    std::size_t limit_;
    task_group group_;
    std::optional<context> body_context_;
    resumption resumption_;
};

}  // namespace detail

template <class F>
    requires detail::coroutine_source<std::decay_t<F>>
detail::spawn_when_free_operation<std::decay_t<F>> task_group::spawn_when_free(F&& f,
                                                                               const char* name) {
    CORACLE_REQUIRE_SAFE_IN_AWAIT(F);
    return {*this, std::forward<F>(f), name};
}

/// Runs `f(group)`, which gives a task, and then waits for all tasks that it spawned into the
/// group. When the block or a task throws, all the others are cancelled and awaited, and the first
/// exception is thrown; a block that is stopped stops the group. Cancelling it cancels all.
template <class F>
auto with_task_group(F&& f) {
    CORACLE_REQUIRE_SAFE_IN_AWAIT(F);
    using Stored = std::decay_t<F>;
    using T = detail::await_result<std::invoke_result_t<Stored&, task_group&>>;
    return detail::group_operation<T, Stored>(task_group::unlimited, std::forward<F>(f));
}

/// Runs `f` with a task group as above, with a `task_group::limit`: at most `limit` of the tasks
/// that `spawn_when_free` starts run at a time.
template <class F>
auto with_task_group(std::size_t limit, F&& f) {
    CORACLE_REQUIRE_SAFE_IN_AWAIT(F);
    using Stored = std::decay_t<F>;
    using T = detail::await_result<std::invoke_result_t<Stored&, task_group&>>;
    return detail::group_operation<T, Stored>(limit, std::forward<F>(f));
}

}  // namespace coracle
