#pragma once

#include <coracle/http/handler_signature.hpp>
#include <coracle/http/request.hpp>
#include <coracle/http/response.hpp>
#include <coracle/runtime/detail/child.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace coracle::http {

namespace detail {

template <class T>
task<response> to_response(task<T> work) {
    co_return co_await std::move(work);
}

/// Makes the response from the result of a handler.
template <response_source R>
void put_response(R&& result, response& out) {
    if constexpr (std::is_same_v<std::decay_t<R>, const char*> ||
                  std::is_same_v<std::decay_t<R>, std::string_view>) {
        out.set_text(result);
    } else {
        out = response(std::forward<R>(result));
    }
}

/// A callable of any kind that a handler may be made of; not what is a handler, or holds one.
template <class F, class Held>
concept plain_function = (std::is_class_v<F> && !std::is_convertible_v<F, Held>) ||
                         (std::is_pointer_v<F> && std::is_function_v<std::remove_pointer_t<F>> &&
                          !std::is_invocable_v<F, request&>);

}  // namespace detail

/// Any handler: `response f(request&)`, or a callable with parameters that are made from the
/// request
/// (`from_request`; `<coracle/http/extract.hpp>` has those for the path, the query, fields, cookies
/// and forms), or a coroutine of either kind. A copy is a reference to the same one. It is called
/// from every loop that serves, also at the same time: what it captures must bear that.
class handler {
public:
    /// The interface of a handler of any kind. `call` either fills `out` and gives true, or
    /// starts nothing, puts a task into `pending` and gives false. The request outlives the task.
    class implementation {
    public:
        virtual ~implementation() = default;
        virtual bool call(request& req, response& out, task<response>& pending) const = 0;
        /// The handler whose exceptions this one turns into responses; null for others.
        virtual const handler* contained() const noexcept { return nullptr; }
        /// Its errors are problem details (`router::problem_details`).
        virtual bool shows_problems() const noexcept { return false; }
        /// The parameters of the path that it cannot do without; they live as long as it.
        virtual std::span<const std::string_view> path_names() const noexcept { return {}; }
    };

    handler() noexcept = default;
    explicit handler(std::shared_ptr<const implementation> i) noexcept : inner_(std::move(i)) {}

    template <class F>
        requires(detail::plain_function<std::decay_t<F>, std::shared_ptr<const implementation>> &&
                 !std::is_same_v<std::decay_t<F>, handler> &&
                 !requires(const std::decay_t<F>& f) { f.operator handler(); })
    handler(F&& f) {
        using function_type = std::decay_t<F>;
        if constexpr (!detail::check_handler<function_type>()) {
            return;
        } else if constexpr (handles_requests<function_type>) {
            inner_ = std::make_shared<function<function_type>>(std::forward<F>(f));
        } else {
            using taken = typename detail::signature<function_type>::taken;
            inner_ = std::make_shared<extracting<function_type, taken>>(std::forward<F>(f));
        }
    }
    template <class R>
    handler(R (*f)(request&)) : handler([f](request& req) { return f(req); }) {}

    explicit operator bool() const noexcept { return inner_ != nullptr; }

    bool call(request& req, response& out, task<response>& pending) const {
        return inner_->call(req, out, pending);
    }

    /// Returns true for a router whose errors are problem details (RFC 9457).
    bool shows_problems() const noexcept { return inner_ != nullptr && inner_->shows_problems(); }
    /// The parameters of the path that it asks for by name; a route must have them.
    std::span<const std::string_view> path_names() const noexcept {
        return inner_ == nullptr ? std::span<const std::string_view>() : inner_->path_names();
    }

    /// Calls it and waits for the response, whichever kind it is.
    task<response> operator()(request& req) const;

private:
    static task<response> run(const implementation* inner, request* req);

    template <class F>
    class function;
    template <class F, class Taken>
    class extracting;

    std::shared_ptr<const implementation> inner_;
};

/// A handler that takes the request alone.
template <class F>
class handler::function final : public implementation {
public:
    explicit function(F f) : f_(std::move(f)) {}
    bool call(request& req, response& out, task<response>& pending) const override {
        using R = std::invoke_result_t<const F&, request&>;
        if constexpr (std::is_same_v<R, task<response>>) {
            pending = f_(req);
            return false;
        } else if constexpr (detail::is_response_task<R>) {
            pending = detail::to_response(f_(req));
            return false;
        } else {
            detail::put_response(f_(req), out);
            return true;
        }
    }

private:
    F f_;
};

namespace detail {

/// One parameter of a handler, before and after it is made from the request.
template <class P>
struct argument {
    static constexpr bool waits = waits_for_request<P>;
    static constexpr std::string_view path_name = path_name_of<P>();

    /// Returns the reason of the refusal, or nothing.
    std::optional<rejection> take(std::expected<P, rejection> made) {
        if (!made) return std::move(made).error();
        value.emplace(*std::move(made));
        return std::nullopt;
    }
    P&& give(request&) noexcept { return *std::move(value); }

    std::optional<P> value;
};

template <class P>
    requires is_request<P>
struct argument<P> {
    static constexpr bool waits = false;
    static constexpr std::string_view path_name{};
    request& give(request& req) noexcept { return req; }
};

}  // namespace detail

/// A handler whose parameters are made from the request. A plain function that waits for none of
/// them needs no coroutine.
template <class F, class... P>
class handler::extracting<F, detail::parameters<P...>> final : public implementation {
public:
    explicit extracting(F f) : f_(std::move(f)) {}

    bool call(request& req, response& out, task<response>& pending) const override {
        if constexpr ((detail::argument<P>::waits || ...)) {
            pending = run(this, &req);
            return false;
        } else {
            arguments made;
            if (auto why = make_ready<0>(made, req)) {
                out = to_response(*why, req);
                return true;
            }
            return finish(apply(made, req, indices()), out, pending);
        }
    }

    std::span<const std::string_view> path_names() const noexcept override { return names; }

private:
    using result = std::invoke_result_t<const F&, P...>;
    using arguments = std::tuple<detail::argument<P>...>;
    using indices = std::index_sequence_for<P...>;
    template <std::size_t I>
    using parameter = std::tuple_element_t<I, std::tuple<P...>>;

    /// Makes those that need not be waited for, so that a request without them is refused before
    /// its body is read.
    template <std::size_t I>
    static std::optional<rejection> make_ready(arguments& made, request& req) {
        if constexpr (I == sizeof...(P)) {
            return std::nullopt;
        } else {
            if constexpr (!detail::is_request<parameter<I>> &&
                          !detail::argument<parameter<I>>::waits) {
                auto why = std::get<I>(made).take(from_request<parameter<I>>::extract(req));
                if (why) return why;
            }
            return make_ready<I + 1>(made, req);
        }
    }

    /// Returns the index of the first, from `from` on, that has to be awaited.
    static consteval std::size_t waiting(std::size_t from) {
        const bool waits[] = {detail::argument<P>::waits...};
        while (from != sizeof...(P) && !waits[from]) ++from;
        return from;
    }

    template <std::size_t I>
    static task<std::optional<rejection>> make_waiting(arguments* made, request* req) {
        auto extracted = co_await from_request<parameter<I>>::extract(*req);
        auto why = std::get<I>(*made).take(std::move(extracted));
        if constexpr (waiting(I + 1) != sizeof...(P)) {
            if (!why) why = co_await make_waiting<waiting(I + 1)>(made, req);
        }
        co_return why;
    }

    template <std::size_t... I>
    decltype(auto) apply(arguments& made, request& req, std::index_sequence<I...>) const {
        return f_(std::get<I>(made).give(req)...);
    }

    template <class R>
    static bool finish(R&& result, response& out, task<response>& pending) {
        if constexpr (std::is_same_v<R, task<response>>) {
            pending = std::forward<R>(result);
            return false;
        } else if constexpr (detail::is_response_task<std::decay_t<R>>) {
            pending = detail::to_response(std::forward<R>(result));
            return false;
        } else {
            detail::put_response(std::forward<R>(result), out);
            return true;
        }
    }

    static task<response> run(const extracting* self, request* req) {
        arguments made;
        auto why = make_ready<0>(made, *req);
        if (!why) why = co_await make_waiting<waiting(0)>(&made, req);
        if (why) co_return to_response(*why, *req);
        if constexpr (detail::is_response_task<result>) {
            auto work = self->apply(made, *req, indices());
            co_return co_await std::move(work);
        } else {
            co_return response(self->apply(made, *req, indices()));
        }
    }

    static constexpr std::size_t name_count =
        (std::size_t{0} + ... + (detail::argument<P>::path_name.empty() ? 0U : 1U));
    static consteval auto collect_names() {
        std::array<std::string_view, name_count> all{};
        std::size_t n = 0;
        for (const std::string_view name :
             {std::string_view(), detail::argument<P>::path_name...}) {
            if (!name.empty()) all[n++] = name;
        }
        return all;
    }
    static constexpr std::array<std::string_view, name_count> names = collect_names();

    F f_;
};

/// Wraps a handler in another: the general form of middleware.
template <class F>
concept wraps_handlers = std::is_invocable_r_v<handler, const F&, handler>;

/// The convenient form: `task<response> f(request&, const handler& next)`, which calls `co_await
/// next(req)`, or returns a response of its own.
template <class F>
concept intercepts_requests =
    std::is_invocable_r_v<task<response>, const F&, request&, const handler&>;

namespace detail {

/// `inner`, with a response in place of each exception that leaves it: what a server would send for
/// it (`failed_response`). Not for the handlers of clients, whose callers catch.
handler contain(handler inner);

/// Puts a middleware around `inner`.
template <class F>
    requires(wraps_handlers<F> || intercepts_requests<F>)
handler put_around(const F& middleware, handler inner) {
    if constexpr (wraps_handlers<F>) {
        return middleware(std::move(inner));
    } else {
        return [middleware, inner = std::move(inner)](request& req) -> task<response> {
            return middleware(req, inner);
        };
    }
}

}  // namespace detail

/// Puts a middleware of a server around `inner`. What `inner` throws reaches the middleware as the
/// response that it becomes.
template <class F>
    requires(wraps_handlers<F> || intercepts_requests<F>)
handler wrap(const F& middleware, handler inner) {
    return detail::put_around(middleware, detail::contain(std::move(inner)));
}

}  // namespace coracle::http
