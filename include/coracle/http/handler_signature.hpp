#pragma once

#include <coracle/http/from_request.hpp>
#include <coracle/http/response.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace coracle::http {

namespace detail {

template <class T>
concept response_source = std::convertible_to<T, response>;

template <class T>
inline constexpr bool is_response_task = false;
template <response_source T>
inline constexpr bool is_response_task<task<T>> = true;

template <class T>
concept handler_result = response_source<T> || is_response_task<T>;

}  // namespace detail

/// The simplest form of a handler: `response f(request&)` or `task<response> f(request&)`, or with
/// anything that a `response` can be made of in its place.
template <class F>
concept handles_requests = std::is_invocable_v<const F&, request&> &&
                           detail::handler_result<std::invoke_result_t<const F&, request&>>;

namespace detail {

template <class... P>
struct parameters {};

/// The parameters of a callable that has one way to be called, which is no template.
template <class F>
struct signature {
    static constexpr bool is_known = false;
    static constexpr bool is_const = false;
};

template <bool Const, class R, class... P>
struct known_signature {
    static constexpr bool is_known = true;
    static constexpr bool is_const = Const;
    using result = R;
    using taken = parameters<P...>;
};

template <class F>
struct member_signature;
template <class C, class R, class... P, bool N>
struct member_signature<R (C::*)(P...) noexcept(N)> : known_signature<false, R, P...> {};
template <class C, class R, class... P, bool N>
struct member_signature<R (C::*)(P...) & noexcept(N)> : known_signature<false, R, P...> {};
template <class C, class R, class... P, bool N>
struct member_signature<R (C::*)(P...) const noexcept(N)> : known_signature<true, R, P...> {};
template <class C, class R, class... P, bool N>
struct member_signature<R (C::*)(P...) const & noexcept(N)> : known_signature<true, R, P...> {};

template <class R, class... P, bool N>
struct signature<R (*)(P...) noexcept(N)> : known_signature<true, R, P...> {};
template <class F>
    requires requires { &F::operator(); }
struct signature<F> : member_signature<decltype(&F::operator())> {};

template <class P>
inline constexpr bool is_request = std::is_same_v<P, request&> || std::is_same_v<P, const request&>;

template <class P>
concept handler_parameter = is_request<P> || extractor<P>;

template <handler_parameter P>
consteval body_use body_use_of_parameter() {
    if constexpr (is_request<P>) {
        return body_use::none;
    } else {
        return body_use_of<P>();
    }
}

template <handler_parameter... P>
consteval bool body_is_read_once() {
    std::size_t whole = 0;
    std::size_t forms = 0;
    for (const body_use use : {body_use::none, body_use_of_parameter<P>()...}) {
        whole += use == body_use::whole ? 1 : 0;
        forms += use == body_use::form ? 1 : 0;
    }
    return whole == 0 || (whole == 1 && forms == 0);
}

template <class R>
consteval bool check_handler_result() {
    static_assert(handler_result<R>,
                  "an HTTP handler returns an http::response, something that one can be made of "
                  "(a string, a status, http::json), or a task of either");
    return handler_result<R>;
}

template <class R, class... P>
consteval bool check_handler_parameters(parameters<P...>) {
    static_assert(
        (handler_parameter<P> && ...),
        "a parameter of an HTTP handler is an http::request&, or by value what "
        "http::from_request can make: http::path, query, header, cookie or form_field of a "
        "type that http::from_text reads, json, text_body, form, data, or a type of yours");
    if constexpr ((handler_parameter<P> && ...)) {
        static_assert(body_is_read_once<P...>(),
                      "only one parameter of an HTTP handler may take the body of the request");
        return body_is_read_once<P...>() && check_handler_result<R>();
    } else {
        return false;
    }
}

/// Returns true if `F` can be a handler. Refuses it with one sentence when it cannot.
template <class F>
consteval bool check_handler() {
    using found = signature<F>;
    if constexpr (std::is_invocable_v<const F&, request&>) {
        return check_handler_result<std::invoke_result_t<const F&, request&>>();
    } else if constexpr (std::is_invocable_v<F&, request&> ||
                         (found::is_known && !found::is_const)) {
        static_assert(!std::is_same_v<F, F>,
                      "an HTTP handler must be callable when const: it serves several requests at "
                      "a time");
        return false;
    } else if constexpr (!found::is_known) {
        static_assert(!std::is_same_v<F, F>,
                      "an HTTP handler is called with one http::request&, or has one call operator "
                      "whose parameters have plain types (no auto, no overloads)");
        return false;
    } else {
        return check_handler_parameters<typename found::result>(typename found::taken());
    }
}

}  // namespace detail

}  // namespace coracle::http
