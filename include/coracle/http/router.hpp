#pragma once

#include <coracle/http/handler.hpp>

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http {

namespace detail {
class router_state;
struct route_record;
}  // namespace detail

/// A value for a parameter of a route, for `router::url`.
struct url_param {
    std::string_view name;
    std::string_view value;
};

/// A route, as `router::routes` lists it.
struct route_info {
    std::vector<std::string> methods;  ///< {"*"}: all
    std::string pattern;               ///< empty: all of a host, whose handler is no router
    std::string name;                  ///< empty without one
    std::string host;                  ///< empty: of all hosts that have no routes of their own
};

/// A route that was just added, to be given a name.
class registered_route {
public:
    /// Sets the name by which `router::url` finds it. Throws `exception`: already_exists when
    /// another route has the name, with both; invalid_argument when it is not in its router any
    /// more: removed, replaced, or mounted elsewhere with all others.
    void name(std::string_view text);

private:
    friend class router;
    registered_route(std::shared_ptr<detail::router_state> s,
                     std::shared_ptr<const detail::route_record> r) noexcept
        : state_(std::move(s)), record_(std::move(r)) {}

    std::shared_ptr<detail::router_state> state_;
    std::shared_ptr<const detail::route_record> record_;
};

/// Maps hosts, methods and paths to handlers, and is itself a handler.
///
/// A pattern begins with a slash and is matched against `request::path()`, which is decoded: write
/// "/a b", not "/a%20b". What stands in braces takes bytes of the path and gives them a name:
///
///     {name}          a segment, or what literal text leaves of it: /v{major}, /{name}.json
///     {name:regex}    the same, when all of it matches an expression of RE2
///     {a}-{b:regex}   several of a segment, with text between them
///     {*name}         all that is left, which may be empty; the last segment of a pattern
///     {*name:segment} the same, but of one segment
///     {*name:safe}    the same, but without "..", NUL, backslash and encoded slash in it
///     {*name:regex}   the same, when all of it, slashes too, matches an expression
///
/// In a segment with several parameters, one without an expression takes as little as it can, the
/// last one the rest. The named groups of an expression, `(?P<year>[0-9]+)`, are parameters too. No
/// pattern has more than 16 parameters.
///
/// The most specific pattern wins, whatever the order of registration: from left to right literal
/// text, then expressions and segments with several parameters (the one that was added first), then
/// `{name}` (the one with the longest text after it), then `{*name:regex}` (the one that was added
/// first), `{*name:segment}`, `{*name:safe}` and `{*name}`. Where that leads nowhere the next is
/// tried. The path alone chooses the pattern, then the method is looked up: an unknown path gives
/// 404, another method 405 with Allow. The router responds to OPTIONS and HEAD where no route does,
/// and to `OPTIONS *`.
///
/// It may be changed while it serves, from any thread: every change is seen by the requests that
/// come after it, and those under way keep the routes that they found. Requests never wait for it.
/// Before the first handler was made of it it belongs to one thread.
class router {
public:
    router();
    ~router();
    router(router&&) noexcept;
    router& operator=(router&&) noexcept;

    /// Adds a route for a method, for several ("GET, POST"), or for every method that has no route
    /// of its own ("*"). Not for CONNECT, which has no path. Throws `exception`: invalid_argument
    /// with a sentence when the pattern is malformed, already_exists when a route matches the same
    /// requests, with both named. A handler that asks for a parameter (`path<"id">`) which the
    /// pattern does not have gives invalid_argument too: here once the router is served, else when
    /// a handler is made of it, for it may be mounted at a prefix that has the parameter.
    registered_route route(std::string_view methods, std::string_view pattern, handler h);

    template <class F>
    registered_route get(std::string_view pattern, F&& f) {
        return route("GET", pattern, handler(std::forward<F>(f)));
    }
    template <class F>
    registered_route head(std::string_view pattern, F&& f) {
        return route("HEAD", pattern, handler(std::forward<F>(f)));
    }
    template <class F>
    registered_route post(std::string_view pattern, F&& f) {
        return route("POST", pattern, handler(std::forward<F>(f)));
    }
    template <class F>
    registered_route put(std::string_view pattern, F&& f) {
        return route("PUT", pattern, handler(std::forward<F>(f)));
    }
    template <class F>
    registered_route patch(std::string_view pattern, F&& f) {
        return route("PATCH", pattern, handler(std::forward<F>(f)));
    }
    template <class F>
    registered_route del(std::string_view pattern, F&& f) {
        return route("DELETE", pattern, handler(std::forward<F>(f)));
    }
    template <class F>
    registered_route options(std::string_view pattern, F&& f) {
        return route("OPTIONS", pattern, handler(std::forward<F>(f)));
    }
    /// Adds a route for every method that has none of its own.
    template <class F>
    registered_route any(std::string_view pattern, F&& f) {
        return route("*", pattern, handler(std::forward<F>(f)));
    }

    /// Removes the routes of these methods at a pattern (names of parameters do not matter); those
    /// of all methods, with their names, when none are given. Returns false if there was none.
    bool remove(std::string_view methods, std::string_view pattern);
    bool remove(std::string_view pattern);
    /// Adds a route in place of those that match the same requests, if any: no request falls
    /// between. It takes their turn among expressions; their names are gone.
    template <class F>
    registered_route replace(std::string_view methods, std::string_view pattern, F&& f) {
        return replace_route(methods, pattern, handler(std::forward<F>(f)));
    }
    /// Calls f(*this), and lets all that it changes be seen at once, or nothing when it throws.
    /// Other threads that want to change something wait meanwhile; requests do not.
    template <class F>
    void update(F&& f) {
        batch all(*this);
        std::forward<F>(f)(*this);
        all.commit();
    }

    /// Puts a middleware around every route and around the responses of the router itself: what is
    /// added first is outermost. What is thrown inside reaches it as the response that it becomes
    /// (`status_error`, 413 for a body beyond its limit, 500), never as an exception. One that
    /// takes a handler and gives one is called twice for each route of a router that is mounted,
    /// for its handler and for its OPTIONS, else once.
    template <class F>
    void use(F middleware) {
        static_assert(wraps_handlers<F> || intercepts_requests<F>,
                      "a middleware takes an http::handler and gives one, or is a "
                      "task<http::response> f(http::request&, const http::handler& next)");
        if constexpr (wraps_handlers<F>) {
            add_middleware([middleware](handler inner) { return middleware(std::move(inner)); });
        } else if constexpr (intercepts_requests<F>) {
            // One object shared by all routes.
            auto shared = std::make_shared<const F>(std::move(middleware));
            auto around = [shared](request& req, const handler& next) -> task<response> {
                return (*shared)(req, next);
            };
            add_middleware(
                [around](handler inner) { return detail::put_around(around, std::move(inner)); });
        }
    }

    /// Routes with a common beginning and middleware of their own: f(router&) fills a router, which
    /// is then mounted.
    template <class F>
    void group(std::string_view prefix, F&& f) {
        router inside;
        std::forward<F>(f)(inside);
        mount(prefix, std::move(inside));
    }
    /// Takes over all routes of another router, with `prefix` in front of their patterns and its
    /// middleware around them; "/" matches the prefix with and without a slash. Its handlers for
    /// unknown paths and the like, and its error pages, apply below the prefix; for those that it
    /// lacks, this router's apply. A prefix may have parameters, which its handlers can read.
    /// Throws as `route`, or because the other has hosts, and then changes nothing.
    void mount(std::string_view prefix, router&& other);

    /// Serves a host in place of the routes of this router: "api.example.com", or "*.example.com"
    /// for all names below, of which the longest wins. Compared without case, and without the port.
    /// Middleware and error pages of this router stand around it. A router goes on to be changed by
    /// its own variable. Throws `exception` (invalid_argument, already_exists).
    void host(std::string_view name, const router& routes);
    void host(std::string_view name, handler h);

    /// Serves requests whose path matches no pattern, in place of a plain 404.
    template <class F>
    void not_found(F&& f) {
        set_not_found(handler(std::forward<F>(f)));
    }
    /// Serves requests whose path matches patterns of which none has the method, in place of a
    /// plain 405. To a 405 it makes, Allow is added.
    template <class F>
    void method_not_allowed(F&& f) {
        set_method_not_allowed(handler(std::forward<F>(f)));
    }
    /// Takes every request that no route takes, for its path or its method, before the two above:
    /// the page of an application, or a proxy.
    template <class F>
    void fallback(F&& f) {
        set_fallback(handler(std::forward<F>(f)));
    }
    /// Serves OPTIONS at every path, known or not, and `OPTIONS *`, in place of the router; but for
    /// paths that have a route for it (also by "*"). Allow is added where a pattern matches and it
    /// is missing. For the preflight requests of CORS, say.
    template <class F>
    void preflight(F&& f) {
        set_preflight(handler(std::forward<F>(f)));
    }
    /// Makes the bodies of responses with this status that have none, or would have no more than
    /// the name of the status: those of this router (404, 405), of its handlers and middleware, of
    /// files and upstreams, and of exceptions whose text is not shown. `f` is a handler; its body
    /// and fields are taken over, the status stays. Responses with another body stay as they are.
    template <class F>
    void error_page(status code, F&& f) {
        set_error_page(code, handler(std::forward<F>(f)));
    }

    /// Makes problem details (RFC 9457, application/problem+json) of all errors: of 404 and 405 of
    /// this router, of exceptions, of requests that an extractor refuses, and of responses from 400
    /// on whose body is plain text, which becomes the `detail`, or nothing. Error pages go first.
    /// It holds for all that is mounted here; the switch of a mounted router is lost. Where this is
    /// the handler of a server, heads that the server refuses by itself get problem details too.
    void problem_details(bool on = true);

    /// The path, percent-encoded, of the route called `name`: routes.url("user", {{"id", "7"}}).
    /// Throws `exception` (invalid_argument) naming a parameter that is missing, unknown, such that
    /// the route would not match it, or such that the path would begin with "//", which leads to
    /// another host; or the name, when no route has it.
    std::string url(std::string_view name, std::span<const url_param> values) const;
    std::string url(std::string_view name, std::initializer_list<url_param> values = {}) const {
        return url(name, std::span<const url_param>(values.begin(), values.size()));
    }

    /// Returns the routes in order of registration, behind them those of its hosts, for what is
    /// made of them: a check, or a document of the interface.
    std::vector<route_info> routes() const;
    /// The table for people: methods, pattern, name and host of every route, in order of
    /// registration, one a line in columns. Empty without routes.
    std::string describe() const;

    /// The router as a handler, which goes with its changes. Where it is the handler of a route of
    /// another, a request has the parameters of both routes, and of two with one name that of this
    /// one; with more than 16 in all it fails. Throws `exception` (invalid_argument) as `route`.
    operator handler() const;

private:
    /// Changes that are seen together.
    class batch {
    public:
        explicit batch(router& r);
        ~batch();
        batch(const batch&) = delete;
        batch& operator=(const batch&) = delete;
        void commit();

    private:
        struct before;
        std::shared_ptr<detail::router_state> state_;
        std::unique_ptr<before> before_;
    };

    registered_route replace_route(std::string_view methods, std::string_view pattern, handler h);
    void add_middleware(unique_function<handler(handler)> m);
    void set_not_found(handler h);
    void set_method_not_allowed(handler h);
    void set_fallback(handler h);
    void set_preflight(handler h);
    void set_error_page(status code, handler h);

    std::shared_ptr<detail::router_state> state_;
};

}  // namespace coracle::http
