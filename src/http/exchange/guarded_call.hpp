#pragma once

#include <coracle/runtime/detail/child.hpp>

namespace coracle::http::detail {

/// Runs the task of a handler in a context of its own, so that only the handler is cancelled when
/// the client hangs up. Never throws: its members say how the task ended.
template <class T>
class guarded_call final : public coracle::detail::joint, public coracle::detail::child<T> {
public:
    guarded_call(task<T> work, coracle::detail::context*& running) noexcept
        : work_(std::move(work)), running_(&running) {
        give_errors();
    }

    bool await_ready() const noexcept { return false; }
    template <coracle::detail::task_promise P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) {
        joins(h);
        auto first = this->begin(std::move(work_), owner(), &parent(), "handler");
        *running_ = &this->own_context();
        return first;
    }
    void await_resume() const noexcept {}

private:
    std::coroutine_handle<> ended() noexcept override {
        *running_ = nullptr;
        return finish(this->was_stopped());
    }

    task<T> work_;
    coracle::detail::context** running_;
};

}  // namespace coracle::http::detail
