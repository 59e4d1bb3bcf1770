#pragma once

#include <coracle/http/middleware/trace_context.hpp>
#include <coracle/runtime/detail/resident.hpp>
#include <coracle/runtime/loop.hpp>

#include <unordered_map>

namespace coracle::http::detail {

/// Gives the frame that awaits it, without suspending it.
class [[nodiscard]] own_frame {
public:
    bool await_ready() const noexcept { return false; }
    template <coracle::detail::task_promise P>
    bool await_suspend(std::coroutine_handle<P> h) noexcept {
        frame_ = &h.promise();
        return false;
    }
    const coracle::detail::promise_base* await_resume() const noexcept { return frame_; }

private:
    const coracle::detail::promise_base* frame_ = nullptr;
};

/// The spans of the requests that are handled on a loop, by the frame that handles them. A call
/// finds its span by going up the frames that wait for it, as `this_task::deadline` does.
class spans_here final : public resident {
public:
    static spans_here& of_this_loop();
    void loop_ended() noexcept override { delete this; }

    void add(const coracle::detail::promise_base* at, trace_span& s) { by_frame_[at] = &s; }
    void remove(const coracle::detail::promise_base* at) noexcept { by_frame_.erase(at); }
    /// The innermost around `frame`; null where there is none.
    trace_span* around(const coracle::detail::promise_base* frame) const noexcept;

private:
    spans_here() noexcept;
    ~spans_here() = default;

    std::unordered_map<const coracle::detail::promise_base*, trace_span*> by_frame_;
};

/// Lets the calls that a frame waits for find their span, as long as this lives.
class announced_span {
public:
    announced_span(const coracle::detail::promise_base* frame, trace_span& s)
        : all_(spans_here::of_this_loop()), frame_(frame) {
        all_.add(frame, s);
    }
    announced_span(const announced_span&) = delete;
    announced_span& operator=(const announced_span&) = delete;
    ~announced_span() { all_.remove(frame_); }

private:
    spans_here& all_;
    const coracle::detail::promise_base* frame_;
};

}  // namespace coracle::http::detail
