#pragma once

#include <coracle/http/handler.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http {

/// Maps methods and paths to handlers, and is itself a handler. Patterns are literal segments,
/// `{name}` for one segment and `{*name}` for all that is left, which may be
/// empty: `/docs/{*name}` matches `/docs/`, but not `/docs`. The most specific match wins: literal,
/// then `{name}`, then
/// `{*name}`, segment by segment. An unknown path gives 404, a known path with another method 405
/// with Allow; OPTIONS and HEAD are answered where the route does not do so itself.
///
/// Fill it, then serve it: once a handler has been made of it, adding to it throws
/// (device_or_resource_busy).
class router {
public:
    router();
    ~router();
    router(router&&) noexcept;
    router& operator=(router&&) noexcept;

    /// Adds a route for one method. Throws `exception` (invalid_argument) when the pattern is
    /// malformed or the route exists, with both named.
    void route(std::string_view method, std::string_view pattern, handler h);

    template <class F>
    void get(std::string_view pattern, F&& f) {
        route("GET", pattern, handler(std::forward<F>(f)));
    }
    template <class F>
    void head(std::string_view pattern, F&& f) {
        route("HEAD", pattern, handler(std::forward<F>(f)));
    }
    template <class F>
    void post(std::string_view pattern, F&& f) {
        route("POST", pattern, handler(std::forward<F>(f)));
    }
    template <class F>
    void put(std::string_view pattern, F&& f) {
        route("PUT", pattern, handler(std::forward<F>(f)));
    }
    template <class F>
    void patch(std::string_view pattern, F&& f) {
        route("PATCH", pattern, handler(std::forward<F>(f)));
    }
    template <class F>
    void del(std::string_view pattern, F&& f) {
        route("DELETE", pattern, handler(std::forward<F>(f)));
    }
    template <class F>
    void options(std::string_view pattern, F&& f) {
        route("OPTIONS", pattern, handler(std::forward<F>(f)));
    }
    /// Every method that has no route of its own.
    template <class F>
    void any(std::string_view pattern, F&& f) {
        route("", pattern, handler(std::forward<F>(f)));
    }

    /// Puts a middleware around every route and around the answers of the router itself: what is
    /// added first is outermost.
    template <class F>
    void use(F middleware) {
        static_assert(wraps_handlers<F> || intercepts_requests<F>,
                      "a middleware takes an http::handler and gives one, or is a "
                      "task<http::response> f(http::request&, const http::handler& next)");
        add_middleware([middleware](handler inner) { return wrap(middleware, std::move(inner)); });
    }

    /// Answers where no route matches, instead of a plain 404.
    template <class F>
    void not_found(F&& f) {
        set_not_found(handler(std::forward<F>(f)));
    }

    /// The routes in order of registration: "GET /users/{id}", one a line.
    std::string describe() const;

    /// A handler with the routes and middleware of now.
    operator handler() const;

private:
    struct table;
    class matcher;
    void add_middleware(unique_function<handler(handler)> m);
    void set_not_found(handler h);
    void refuse_when_served(std::string_view what) const;

    std::shared_ptr<table> table_;
    std::shared_ptr<std::vector<unique_function<handler(handler)>>> middleware_;
};

}  // namespace coracle::http
