#pragma once

#include <coracle/http/router.hpp>
#include <coracle/websocket/connection.hpp>
#include <coracle/websocket/options.hpp>

#include <memory>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace coracle::websocket {

namespace detail {

/// The state that a route and its connections have in common.
struct route_state;
std::shared_ptr<route_state> make_route_state(route_options o);
counters counters_of(const route_state& s) noexcept;

/// Runs on a connection; the handler of the user with its arguments.
using connection_function = unique_function<task<>(connection&)>;

/// The response to a handshake: 101, or why not.
http::response accept(http::request& req, const std::shared_ptr<route_state>& s,
                      connection_function run);

template <class F, class Taken>
class endpoint_handler;

/// An HTTP handler with the parameters of `F` after the connection.
template <class F, class... P>
class endpoint_handler<F, http::detail::parameters<connection&, P...>> {
public:
    endpoint_handler(F f, std::shared_ptr<route_state> s)
        : f_(std::make_shared<const F>(std::move(f))), state_(std::move(s)) {}

    http::response operator()(http::request& req, P... given) const {
        auto run = [f = f_, values = std::tuple<P...>(std::forward<P>(given)...)](
                       connection& ws) mutable -> task<> {
            return std::apply([&](auto&... v) -> task<> { return (*f)(ws, std::forward<P>(v)...); },
                              values);
        };
        return accept(req, state_, connection_function(std::move(run)));
    }

private:
    std::shared_ptr<const F> f_;
    std::shared_ptr<route_state> state_;
};

template <class T>
inline constexpr bool takes_connection = false;
template <class... P>
inline constexpr bool takes_connection<http::detail::parameters<connection&, P...>> = true;

template <class F>
consteval bool check_connection_handler() {
    using found = http::detail::signature<F>;
    static_assert(found::is_known && found::is_const,
                  "a WebSocket handler has one const call operator whose parameters have plain "
                  "types (no auto, no overloads)");
    if constexpr (found::is_known && found::is_const) {
        static_assert(takes_connection<typename found::taken>,
                      "the first parameter of a WebSocket handler is websocket::connection&; what "
                      "an HTTP handler may take follows");
        static_assert(std::is_same_v<typename found::result, task<>>,
                      "a WebSocket handler is a coroutine that returns coracle::task<>");
        return takes_connection<typename found::taken> &&
               std::is_same_v<typename found::result, task<>>;
    } else {
        return false;
    }
}

}  // namespace detail

/// A route of WebSocket, for what is counted of its connections. Copies lead to the same one.
class endpoint {
public:
    explicit endpoint(std::shared_ptr<detail::route_state> s) noexcept : state_(std::move(s)) {}
    /// From any thread.
    websocket::counters counters() const noexcept { return detail::counters_of(*state_); }

private:
    std::shared_ptr<detail::route_state> state_;
};

/// Makes a handler of HTTP that accepts handshakes, for `router::route` and its like; `route` does
/// both.
template <class F>
http::handler make_handler(F f, std::shared_ptr<detail::route_state> s) {
    using taken = typename http::detail::signature<F>::taken;
    return http::handler(detail::endpoint_handler<F, taken>(std::move(f), std::move(s)));
}

/// Adds a route for WebSocket (RFC 6455): for each connection `f(ws, ...)` runs, a coroutine, on
/// the loop that accepted it. Behind the connection it may have the parameters of any handler of
/// HTTP; what they refer to lives as long as the connection.
///
///     websocket::route(routes, "/chat/{room}",
///         [](websocket::connection& ws, http::path<"room"> room) -> task<> {
///             while (auto message = co_await ws.receive()) co_await ws.send(*message);
///         });
///
/// When `f` ends, the connection is closed with 1000; with 1011 when an exception leaves it that
/// does not come from the connection itself. When the connection ends first, `f` is cancelled after
/// `timeouts::handler`. When the server drains, the connection is closed with 1001. Requests that
/// are no handshake, or for another version than 13, get 426 (over HTTP/2 501, and 400 for the
/// version), malformed ones 400, those of other origins 403. Throws as `router::route`, and
/// `exception` (invalid_argument) naming a listed origin that is none.
template <class F>
endpoint route(http::router& routes, std::string_view path, route_options o, F&& f) {
    auto state = detail::make_route_state(std::move(o));
    if constexpr (detail::check_connection_handler<std::decay_t<F>>()) {
        routes.get(path, make_handler(std::decay_t<F>(std::forward<F>(f)), state));
    }
    return endpoint(std::move(state));
}
template <class F>
endpoint route(http::router& routes, std::string_view path, F&& f) {
    return route(routes, path, route_options(), std::forward<F>(f));
}

}  // namespace coracle::websocket
