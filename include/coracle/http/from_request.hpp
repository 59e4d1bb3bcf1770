#pragma once

#include <coracle/http/rejection.hpp>
#include <coracle/http/request.hpp>
#include <coracle/runtime/task.hpp>

#include <cstdint>
#include <expected>
#include <string_view>
#include <type_traits>

namespace coracle::http {

/// The use that an extractor makes of the body of the request, which can be read once.
enum class body_use : std::uint8_t {
    none,
    form,   ///< reads it as a form, which several extractors share
    whole,  ///< takes it for itself
};

/// Makes a parameter of a handler from the request. Specialise it for a type of your own:
///
///     template <>
///     struct coracle::http::from_request<user> {
///         static std::expected<user, rejection> extract(request& req);
///     };
///
/// One that has to wait returns `task<std::expected<user, rejection>>`; it is taken to read the
/// body unless it says otherwise by `static constexpr body_use body`. One that needs a parameter of
/// the path names it by `static constexpr std::string_view path_name`, which the router looks for
/// in the pattern. What it gives may hold views into the request, which outlives the handler and
/// its task. It is called from every loop at a time. An exception that leaves it is one of the
/// handler.
template <class T>
struct from_request;

namespace detail {

template <class T, class R>
inline constexpr bool is_extraction = std::is_same_v<R, std::expected<T, rejection>>;
template <class T, class R>
inline constexpr bool is_extraction<T, task<R>> = is_extraction<T, R>;

template <class T>
concept extractor =
    requires(request& req) { requires is_extraction<T, decltype(from_request<T>::extract(req))>; };

/// True if the extractor has to be awaited.
template <extractor T>
inline constexpr bool waits_for_request =
    is_task<decltype(from_request<T>::extract(std::declval<request&>()))>;

template <extractor T>
consteval body_use body_use_of() {
    if constexpr (requires { from_request<T>::body; }) {
        return from_request<T>::body;
    } else {
        return waits_for_request<T> ? body_use::whole : body_use::none;
    }
}

template <extractor T>
consteval std::string_view path_name_of() {
    if constexpr (requires { from_request<T>::path_name; }) {
        return from_request<T>::path_name;
    } else {
        return {};
    }
}

}  // namespace detail

}  // namespace coracle::http
