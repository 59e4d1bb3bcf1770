#pragma once

#include <coracle/http/handler.hpp>
#include <coracle/http/status.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http {

/// The slash at the end of a path that is not "/".
enum class trailing_slash : std::uint8_t {
    keep,
    remove,  ///< "/docs/" leads to "/docs"
    add,     ///< "/docs" leads to "/docs/", but not "/logo.png"
};

/// A path that leads to another one. `from` has segments, `{name}` for one of any text, and at the
/// end perhaps `{*name}` for all that is left: "/blog/{year}/{*rest}". `to` has the same names, in
/// any place: "/archive/{year}/{rest}".
struct path_rule {
    std::string from;
    std::string to;
};

struct redirect_options {
    /// The first one that matches; `to` may be a URL of another host as well:
    /// "https://docs.example.com/{rest}".
    std::vector<path_rule> rules = {};
    trailing_slash slash = trailing_slash::keep;
    /// The host, with a port where it has one, that others lead to: "www.example.com". Empty: any.
    std::string host = {};
    /// Default: 308, which keeps the method, and which caches remember.
    http::status status = http::status::permanent_redirect;
};

/// Middleware that redirects paths and hosts, all in one step; the query stays. It never leads to
/// another host but where a rule or `host` says so: a path that begins with two slashes is left
/// alone. The scheme is that of the client (`client_scheme`); see `https_only` for the change to
/// https. Throws `exception` (invalid_argument) naming a rule that is malformed, or a status that
/// is no redirect.
class redirects {
public:
    explicit redirects(redirect_options options);
    handler operator()(handler inner) const;

    class rules;

private:
    std::shared_ptr<const rules> rules_;
};

/// Middleware that has a request handled as if it were for another path; the client learns nothing
/// of it. The first rule that matches counts, once. It stands around a router, since it chooses the
/// route: `http::serve(http::wrap(http::rewrite("/v1/{*rest}", "/{rest}"), routes))`.
/// `request::path` is the new one, `request::target` stays what the client sent, and `forward_to`
/// sends that on. Throws `exception`
/// (invalid_argument) naming a rule that is malformed, leads to another host, or has a query.
class rewrite {
public:
    rewrite(std::string_view from, std::string_view to);
    explicit rewrite(std::vector<path_rule> list);
    handler operator()(handler inner) const;

    class rules;

private:
    std::shared_ptr<const rules> rules_;
};

}  // namespace coracle::http
