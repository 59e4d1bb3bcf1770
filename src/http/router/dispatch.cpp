#include "http/router/router_state.hpp"

#include <coracle/base/error.hpp>

#include <new>
#include <string>

namespace coracle::http::detail {
namespace {

/// Adds Allow to a 405, and to a response to OPTIONS (RFC 9110 section 9.3.7).
void add_allow(response& out, std::string_view allow, bool to_options) {
    if (out.status() != status::method_not_allowed && !to_options) return;
    if (!out.fields().contains("Allow")) out.set("Allow", allow);
}

task<response> add_allow_later(task<response> work, std::string_view allow, bool to_options) {
    response out = co_await std::move(work);
    add_allow(out, allow, to_options);
    co_return out;
}

/// Calls the handler for a path that has no route for the method.
bool call_with_allow(const handler& own, std::string_view allow, request& req, response& out,
                     task<response>& pending) {
    const bool to_options = req.method() == method::options;
    if (own.call(req, out, pending)) {
        add_allow(out, allow, to_options);
        return true;
    }
    pending = add_allow_later(std::move(pending), allow, to_options);
    return false;
}

/// Returns the handler of the narrowest scope that has one for this, or null.
const handler* handler_at(const route_table& table, const request& req, handler route_scope::* of) {
    const route_scope* const scope =
        table.scope_of(req.path(), [of](const route_scope& s) { return bool(s.*of); });
    return scope == nullptr ? nullptr : &(scope->*of);
}

/// Returns the handler of OPTIONS within the middleware of a route's groups: of the route that a
/// preflight asks about (Fetch standard, "CORS-preflight request"), or of the first that is in one.
const handler* options_of_route(const route_set& found, const request& req) {
    const std::string_view wanted = req.header("Access-Control-Request-Method");
    const route_record* const asked = found.find(parse_method(wanted), wanted);
    if (asked != nullptr) return asked->options ? &asked->options : nullptr;
    for (const route_set::entry& e : found.entries) {
        if (e.record->options) return &e.record->options;
    }
    return nullptr;
}

/// Returns the handler of OPTIONS at a path without a route for it; null: the router's own.
const handler* options_handler(const route_table& table, const route_set& found,
                               const request& req) {
    if (req.method() != method::options) return nullptr;
    if (const handler* const own = handler_at(table, req, &route_scope::preflight)) return own;
    return options_of_route(found, req);
}

bool unknown_path(const route_table& table, request& req, response& out, task<response>& pending) {
    const bool to_options = req.method() == method::options;
    if (to_options) {
        const handler* const own = handler_at(table, req, &route_scope::preflight);
        if (own != nullptr) return own->call(req, out, pending);
        if (req.path() == "*") {
            out = response(status::no_content);
            out.set("Allow", table.all_methods());
            return true;
        }
    }
    const route_scope* const scope = table.scope_of(req.path(), [=](const route_scope& s) {
        return s.fallback || s.not_found || (to_options && s.unknown_options);
    });
    if (scope != nullptr) {
        const handler& own = scope->fallback    ? scope->fallback
                             : scope->not_found ? scope->not_found
                                                : scope->unknown_options;
        return own.call(req, out, pending);
    }
    out = error_response(req, status::not_found);
    return true;
}

bool other_method(const route_table& table, const route_set& found, request& req, response& out,
                  task<response>& pending) {
    if (const handler* const own = options_handler(table, found, req)) {
        return call_with_allow(*own, found.allow, req, out, pending);
    }
    if (req.method() == method::options) {
        out = response(status::no_content);
        out.set("Allow", found.allow);
        return true;
    }
    const route_scope* const scope = table.scope_of(
        req.path(), [](const route_scope& s) { return s.fallback || s.method_not_allowed; });
    if (scope != nullptr && scope->fallback) return scope->fallback.call(req, out, pending);
    if (scope != nullptr) {
        return call_with_allow(scope->method_not_allowed, found.allow, req, out, pending);
    }
    out = error_response(req, status::method_not_allowed);
    out.set("Allow", found.allow);
    return true;
}

/// Adds the parameters to those of an outer route, if this router is a handler. A handler must not
/// take one that did not fit for empty.
void put_params(request& req, const route_record& route, const route_match& found) {
    for (std::size_t i = 0; i != found.count; ++i) {
        const std::string_view value(found.values[i].data, found.values[i].size);
        if (req.put_param(route.names[i], value)) continue;
        throw_exception(error(std::errc::invalid_argument, "route")
                            .on(route.pattern.text + " has, with the routes around it, more than " +
                                std::to_string(request::most_params) + " parameters"));
    }
}

inline bool respond_by_routes(const route_table& table, request& req, response& out,
                              task<response>& pending) {
    if (table.hosts() != nullptr) [[unlikely]] {
        const handler* const own = table.hosts()->find(req.host());
        if (own != nullptr) return own->call(req, out, pending);
    }
    route_match found;
    if (!table.routes().match(req.path(), found)) {
        return unknown_path(table, req, out, pending);
    }
    const route_record* const route = found.found->find(req.method(), req.method_text());
    if (route == nullptr) return other_method(table, *found.found, req, out, pending);
    req.set_route(route->pattern.text);
    if (req.param_count() != 0) [[unlikely]] {
        put_params(req, *route, found);
    } else {
        for (std::size_t i = 0; i != found.count; ++i) {
            req.add_param(route->names[i], {found.values[i].data, found.values[i].size});
        }
    }
    return route->target.call(req, out, pending);
}

class served_router final : public handler::implementation {
public:
    explicit served_router(std::shared_ptr<router_state> s) noexcept : state_(std::move(s)) {}

    bool call(request& req, response& out, task<response>& pending) const override {
        served_table& mine = state_->live().of_this_thread();
        req.hold(mine);
        const auto& [table, chain] = *mine.of;
        if (table.styles_errors()) [[unlikely]] {
            return respond_with_style(*mine.of, req, out, pending);
        }
        if (chain) return chain.call(req, out, pending);
        return respond_by_routes(table, req, out, pending);
    }

    bool shows_problems() const noexcept override {
        try {
            return state_->live().of_this_thread().of->table.problems;
        } catch (const std::bad_alloc&) {
            return false;
        }
    }

private:
    std::shared_ptr<router_state> state_;
};

}  // namespace

bool dispatch(const route_table& table, request& req, response& out, task<response>& pending) {
    return respond_by_routes(table, req, out, pending);
}

handler make_handler(std::shared_ptr<router_state> state) {
    return handler(std::make_shared<served_router>(std::move(state)));
}

}  // namespace coracle::http::detail
