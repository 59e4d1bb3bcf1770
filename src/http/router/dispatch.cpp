#include "http/router/router_state.hpp"

#include <coracle/base/error.hpp>

#include <string>

namespace coracle::http::detail {
namespace {

/// An answer of the router itself: the error page makes the body, where there is one.
response plain_answer(const route_table& table, const request& req, status code, const char* text) {
    if (table.page_for(code, req.path()) != nullptr) return response(code);
    return response(code, text);
}

void add_allow(response& answer, std::string_view allow) {
    if (answer.status() != status::method_not_allowed) return;
    if (!answer.fields().contains("Allow")) answer.set("Allow", allow);
}

task<response> add_allow_later(task<response> work, std::string_view allow) {
    response answer = co_await std::move(work);
    add_allow(answer, allow);
    co_return answer;
}

bool unknown_path(const route_table& table, request& req, response& answer,
                  task<response>& pending) {
    if (req.method() == method::options && req.path() == "*") {
        answer = response(status::no_content);
        answer.set("Allow", table.all_methods());
        return true;
    }
    const route_scope* const scope =
        table.scope_of(req.path(), [](const route_scope& s) { return s.fallback || s.not_found; });
    if (scope != nullptr) {
        const handler& own = scope->fallback ? scope->fallback : scope->not_found;
        return own.call(req, answer, pending);
    }
    answer = plain_answer(table, req, status::not_found, "404 Not Found\n");
    return true;
}

bool other_method(const route_table& table, const route_set& found, request& req, response& answer,
                  task<response>& pending) {
    if (req.method() == method::options) {
        answer = response(status::no_content);
        answer.set("Allow", found.allow);
        return true;
    }
    const route_scope* const scope = table.scope_of(
        req.path(), [](const route_scope& s) { return s.fallback || s.method_not_allowed; });
    if (scope != nullptr && scope->fallback) return scope->fallback.call(req, answer, pending);
    if (scope != nullptr) {
        if (scope->method_not_allowed.call(req, answer, pending)) {
            add_allow(answer, found.allow);
            return true;
        }
        pending = add_allow_later(std::move(pending), found.allow);
        return false;
    }
    answer = plain_answer(table, req, status::method_not_allowed, "405 Method Not Allowed\n");
    answer.set("Allow", found.allow);
    return true;
}

/// Beside the parameters of a route whose handler this router is. A handler that looks for one that
/// had no room must not take it for empty.
void put_params(request& req, const route_record& route, const route_match& found) {
    for (std::size_t i = 0; i != found.count; ++i) {
        const std::string_view value(found.values[i].data, found.values[i].size);
        if (req.put_param(route.names[i], value)) continue;
        throw_exception(error(std::errc::invalid_argument, "route")
                            .on(route.pattern.text + " has, with the routes around it, more than " +
                                std::to_string(request::most_params) + " parameters"));
    }
}

inline bool answer_by_routes(const route_table& table, request& req, response& answer,
                             task<response>& pending) {
    if (table.hosts() != nullptr) [[unlikely]] {
        const handler* const own = table.hosts()->find(req.host());
        if (own != nullptr) return own->call(req, answer, pending);
    }
    route_match found;
    if (!table.routes().match(req.path(), found)) {
        return unknown_path(table, req, answer, pending);
    }
    const route_record* const route = found.found->find(req.method(), req.method_text());
    if (route == nullptr) return other_method(table, *found.found, req, answer, pending);
    if (req.param_count() != 0) [[unlikely]] {
        put_params(req, *route, found);
    } else {
        for (std::size_t i = 0; i != found.count; ++i) {
            req.add_param(route->names[i], {found.values[i].data, found.values[i].size});
        }
    }
    return route->target.call(req, answer, pending);
}

class served_router final : public handler::implementation {
public:
    explicit served_router(std::shared_ptr<router_state> s) noexcept : state_(std::move(s)) {}

    bool call(request& req, response& answer, task<response>& pending) const override {
        served_table& mine = state_->live().of_this_thread();
        req.hold(mine);
        const auto& [table, chain] = *mine.of;
        if (table.has_pages()) [[unlikely]] {
            return answer_with_pages(*mine.of, req, answer, pending);
        }
        if (chain) return chain.call(req, answer, pending);
        return answer_by_routes(table, req, answer, pending);
    }

private:
    std::shared_ptr<router_state> state_;
};

}  // namespace

bool dispatch(const route_table& table, request& req, response& answer, task<response>& pending) {
    return answer_by_routes(table, req, answer, pending);
}

handler make_handler(std::shared_ptr<router_state> state) {
    return handler(std::make_shared<served_router>(std::move(state)));
}

}  // namespace coracle::http::detail
