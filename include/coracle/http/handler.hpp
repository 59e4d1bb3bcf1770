#pragma once

#include <coracle/http/request.hpp>
#include <coracle/http/response.hpp>
#include <coracle/runtime/child.hpp>

#include <concepts>
#include <memory>
#include <type_traits>

namespace coracle::http {

namespace detail {

template <class T>
concept answer = std::convertible_to<T, response>;

template <class T>
inline constexpr bool is_answer_task = false;
template <answer T>
inline constexpr bool is_answer_task<task<T>> = true;

template <class T>
task<response> to_response(task<T> work) {
    co_return co_await std::move(work);
}

}  // namespace detail

/// What a handler is: `response f(request&)` or `task<response> f(request&)`, or with anything that
/// a `response` can be made of in its place.
template <class F>
concept handles_requests = std::is_invocable_v<const F&, request&> &&
                           (detail::answer<std::invoke_result_t<const F&, request&>> ||
                            detail::is_answer_task<std::invoke_result_t<const F&, request&>>);

/// Any handler. A copy is a reference to the same one. It is called from every loop that serves,
/// also at the same time: what it captures must bear that.
class handler {
public:
    /// The seam: a handler of any kind. `call` either fills `answer` and gives true, or starts
    /// nothing, puts a task into `pending` and gives false. The request outlives the task.
    class implementation {
    public:
        virtual ~implementation() = default;
        virtual bool call(request& req, response& answer, task<response>& pending) const = 0;
    };

    handler() noexcept = default;
    explicit handler(std::shared_ptr<const implementation> i) noexcept : inner_(std::move(i)) {}

    template <class F>
        requires(std::is_class_v<std::decay_t<F>> && !std::is_same_v<std::decay_t<F>, handler> &&
                 !std::is_convertible_v<F, std::shared_ptr<const implementation>> &&
                 !requires(const std::decay_t<F>& f) { f.operator handler(); })
    handler(F&& f) {
        static_assert(
            std::is_invocable_v<const std::decay_t<F>&, request&>,
            "an HTTP handler is called with one http::request&, and must be callable when "
            "const: it serves several requests at a time");
        static_assert(
            handles_requests<std::decay_t<F>>,
            "an HTTP handler returns an http::response, something that one can be made of "
            "(a string, a status), or a task of either");
        inner_ = std::make_shared<function<std::decay_t<F>>>(std::forward<F>(f));
    }
    template <class R>
    handler(R (*f)(request&)) : handler([f](request& req) { return f(req); }) {}

    explicit operator bool() const noexcept { return inner_ != nullptr; }

    bool call(request& req, response& answer, task<response>& pending) const {
        return inner_->call(req, answer, pending);
    }

    /// Calls it and waits for the answer, whichever kind it is.
    task<response> operator()(request& req) const { return run(inner_.get(), &req); }

private:
    static task<response> run(const implementation* inner, request* req);

    template <class F>
    class function final : public implementation {
    public:
        explicit function(F f) : f_(std::move(f)) {}
        bool call(request& req, response& answer, task<response>& pending) const override {
            using R = std::invoke_result_t<const F&, request&>;
            if constexpr (std::is_same_v<R, task<response>>) {
                pending = f_(req);
                return false;
            } else if constexpr (detail::is_answer_task<R>) {
                pending = detail::to_response(f_(req));
                return false;
            } else if constexpr (std::is_same_v<std::decay_t<R>, const char*> ||
                                 std::is_same_v<std::decay_t<R>, std::string_view>) {
                answer.set_text(f_(req));
                return true;
            } else {
                answer = response(f_(req));
                return true;
            }
        }

    private:
        F f_;
    };

    std::shared_ptr<const implementation> inner_;
};

/// Wraps a handler in another: the general form of middleware.
template <class F>
concept wraps_handlers = std::is_invocable_r_v<handler, const F&, handler>;

/// The convenient form: `task<response> f(request&, const handler& next)`, which calls
/// `co_await next(req)`, or answers itself.
template <class F>
concept intercepts_requests =
    std::is_invocable_r_v<task<response>, const F&, request&, const handler&>;

/// Puts a middleware around `inner`.
template <class F>
    requires(wraps_handlers<F> || intercepts_requests<F>)
handler wrap(const F& middleware, handler inner) {
    if constexpr (wraps_handlers<F>) {
        return middleware(std::move(inner));
    } else {
        return [middleware, inner = std::move(inner)](request& req) -> task<response> {
            return middleware(req, inner);
        };
    }
}

}  // namespace coracle::http
