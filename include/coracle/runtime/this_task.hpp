#pragma once

#include <coracle/runtime/sleep.hpp>

/// Queries of a task about itself: `if (co_await this_task::stopped()) ...`. Only `yield` suspends.
namespace coracle::this_task {

namespace detail {

using coracle::detail::context;
using coracle::detail::promise_base;

/// Asks the frame that awaits it, without suspending it.
template <class Question>
class [[nodiscard]] question {
public:
    explicit question(Question q) noexcept : question_(q) {}
    bool await_ready() const noexcept { return false; }
    template <coracle::detail::task_promise P>
    bool await_suspend(std::coroutine_handle<P> h) noexcept {
        frame_ = &h.promise();
        return false;
    }
    auto await_resume() const noexcept { return question_(*frame_); }

private:
    Question question_;
    const promise_base* frame_ = nullptr;
};

struct is_stopped {
    bool operator()(const promise_base& f) const noexcept { return f.context->cancelled(); }
};
struct get_name {
    const char* operator()(const promise_base& f) const noexcept { return f.context->name; }
};
struct put_name {
    const char* name;
    void operator()(const promise_base& f) const noexcept { f.context->name = name; }
};
struct get_deadline {
    time_point operator()(const promise_base& f) const noexcept {
        return coracle::detail::time_limit_of(f);
    }
};

}  // namespace detail

/// Returns true if the task was requested to stop: its next wait will end at once. For tasks that
/// compute for long, and for loops that await with `as_result`.
inline detail::question<detail::is_stopped> stopped() noexcept {
    return detail::question(detail::is_stopped());
}

/// Returns the name of the line of execution that the task belongs to, as reports show it.
inline detail::question<detail::get_name> name() noexcept {
    return detail::question(detail::get_name());
}

/// Changes that name. `text` must live as long as the task: a string literal.
inline detail::question<detail::put_name> set_name(const char* text) noexcept {
    return detail::question(detail::put_name{text});
}

/// Returns the nearest of the deadlines that `with_deadline` and `with_timeout` have set around the
/// task, `time_point::max()` when there is none. One that is `shielded` sees only its own limit and
/// those inside. It is found by going up the chain of awaiting tasks: ask once, not in each step.
inline detail::question<detail::get_deadline> deadline() noexcept {
    return detail::question(detail::get_deadline());
}

/// `coracle::yield`.
inline yield_operation yield() noexcept {
    return coracle::yield();
}

}  // namespace coracle::this_task
