#pragma once

#include <coracle/runtime/spawn.hpp>

namespace coracle {

namespace detail {

template <class T, class F>
class group_operation;

}  // namespace detail

/// Tasks that live no longer than the block that `with_task_group` runs. Belongs to one loop.
class task_group {
public:
    task_group() noexcept = default;
    task_group(const task_group&) = delete;
    task_group& operator=(const task_group&) = delete;

    /// Starts `f()` as a task of the group, at once and until its first wait. `f` is owned until
    /// the task has ended. When the task throws, the whole group is cancelled and `with_task_group`
    /// throws that exception.
    template <class F>
        requires detail::coroutine_source<std::decay_t<F>>
    void spawn(F&& f, const char* name = "task_group") {
        auto m = std::make_unique<member<std::decay_t<F>>>(*this, std::forward<F>(f));
        task<> work = m->make();
        ++size_;
        m.release()->start(std::move(work), name);
    }

    /// Asks all tasks of the group, and the block, to stop.
    void cancel() noexcept { context_->cancel(); }

    /// The tasks that have not ended.
    std::size_t size() const noexcept { return size_; }

private:
    template <class T, class F>
    friend class detail::group_operation;

    template <class F>
    class member final : public detail::spawned {
    public:
        member(task_group& g, F f) : group_(&g), f_(std::move(f)) {}
        task<> make() { return detail::to_task((*f_)()); }
        void start(task<> work, const char* name) {
            detail::context& parent = *group_->context_;
            this->begin(std::move(work), parent.owner(), &parent, name).resume();
        }

    private:
        void over() noexcept override {
            auto e = this->exception();
            this->destroy();
            // Captures may refer to what the awaiter of the group destroys when it goes on.
            f_.reset();
            group_->member_ended(e);
        }
        task_group* group_;
        std::optional<F> f_;
    };

    void member_ended(const std::exception_ptr& e) noexcept {
        if (e != nullptr && failure_ == nullptr) {
            failure_ = e;
            cancel();
        }
        if (--size_ == 0 && emptied_ != nullptr) emptied_->run();
    }

    detail::context* context_ = nullptr;
    detail::runnable* emptied_ = nullptr;
    std::exception_ptr failure_;
    std::size_t size_ = 0;
};

namespace detail {

template <class T, class F>
class [[nodiscard]] group_operation final : public joint, child<T> {
public:
    explicit group_operation(F f) : f_(std::move(f)), resumption_(*this) {}
    // Each base moves only its own part.
    // NOLINTBEGIN(bugprone-use-after-move)
    group_operation(group_operation&& other) noexcept
        : joint(std::move(other)), child<T>(std::move(other)), f_(std::move(other.f_)),
          resumption_(*this) {}
    // NOLINTEND(bugprone-use-after-move)

    bool await_ready() const noexcept { return false; }

    template <task_promise P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        this->joins(h);
        whole_.emplace(this->owner(), &this->parent());
        whole_->name = "with_task_group";
        group_.context_ = &*whole_;
        return this->begin(call(), this->owner(), &*whole_, "with_task_group");
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

    /// When `f` throws before there is a task, those that it has spawned are still awaited.
    task<T> call() { co_return co_await f_(group_); }

    std::coroutine_handle<> ended() noexcept override {
        if (this->was_stopped() || this->exception() != nullptr) whole_->cancel();
        if (group_.size_ == 0) return conclude();
        group_.emptied_ = &resumption_;
        return std::noop_coroutine();
    }

    std::coroutine_handle<> conclude() noexcept {
        whole_->unlink();
        return this->finish(this->was_stopped() && group_.failure_ == nullptr);
    }

    F f_;
    task_group group_;
    std::optional<context> whole_;
    resumption resumption_;
};

}  // namespace detail

/// Runs `f(group)`, which gives a task, and then waits for all tasks that it spawned into the
/// group. When the block or a task throws, all the others are cancelled and awaited, and the first
/// exception is thrown; a block that is stopped stops the group. Cancelling it cancels all.
template <class F>
auto with_task_group(F&& f) {
    CORACLE_REQUIRE_SAFE_IN_AWAIT(F);
    using Stored = std::decay_t<F>;
    using T = detail::await_result<std::invoke_result_t<Stored&, task_group&>>;
    return detail::group_operation<T, Stored>(std::forward<F>(f));
}

}  // namespace coracle
