#include "http/router/router_state.hpp"

#include <coracle/base/error.hpp>
#include <coracle/http/router.hpp>

#include <algorithm>

namespace coracle::http {
namespace {

using change = detail::router_state::change;

std::vector<std::string> methods_at(const detail::route_table& table, const detail::pattern& p) {
    std::vector<std::string> methods;
    const detail::route_set* there = table.routes().find(p);
    if (there == nullptr) return methods;
    for (const auto& e : there->entries) methods.push_back(e.method);
    return methods;
}

std::shared_ptr<detail::route_record> make_record(detail::router_state& state,
                                                  std::string_view pattern, handler h) {
    if (!h) detail::refuse_pattern(pattern, "it has no handler");
    const auto wanted = h.path_names();
    std::vector<std::string> names(wanted.begin(), wanted.end());
    return state.make_record(pattern, std::move(h), std::move(names));
}

/// Returns true if a request to `from` may come to `to` by its host.
bool leads_to(detail::router_state& from, const detail::router_state& to) {
    if (&from == &to) return true;
    const detail::route_table table = change(from).table();
    if (table.hosts() == nullptr) return false;
    return std::ranges::any_of(table.hosts()->entries(), [&to](const auto& host) {
        return host.routes != nullptr && leads_to(*host.routes, to);
    });
}

}  // namespace

router::router() : state_(std::make_shared<detail::router_state>()) {}
router::~router() = default;
router::router(router&&) noexcept = default;
router& router::operator=(router&&) noexcept = default;

router::operator handler() const {
    state_->begin_to_serve();
    return detail::make_handler(state_);
}

void registered_route::name(std::string_view text) {
    change c(*state_);
    c.table().name(text, record_);
    c.done();
}

registered_route router::route(std::string_view methods, std::string_view pattern, handler h) {
    const auto names = detail::parse_methods(methods, pattern);
    change c(*state_);
    const auto record = make_record(*state_, pattern, std::move(h));
    c.table().add(names, record);
    c.done();
    return registered_route(state_, record);
}

bool router::remove(std::string_view methods, std::string_view pattern) {
    const auto names = detail::parse_methods(methods, pattern);
    const auto parsed = detail::parse_pattern(pattern);
    change c(*state_);
    const bool found = c.table().remove(names, parsed);
    if (found) c.done();
    return found;
}

bool router::remove(std::string_view pattern) {
    const auto parsed = detail::parse_pattern(pattern);
    change c(*state_);
    const bool found = c.table().remove(methods_at(c.table(), parsed), parsed);
    if (found) c.done();
    return found;
}

registered_route router::replace_route(std::string_view methods, std::string_view pattern,
                                       handler h) {
    const auto names = detail::parse_methods(methods, pattern);
    change c(*state_);
    const auto record = make_record(*state_, pattern, std::move(h));
    c.table().replace(names, record);
    c.done();
    return registered_route(state_, record);
}

void router::host(std::string_view name, const router& routes) {
    if (leads_to(*routes.state_, *state_)) {
        error e(std::errc::invalid_argument, "host");
        throw_exception(
            std::move(e.on('"' + std::string(name) + "\" would lead back to this router")));
    }
    change c(*state_);
    c.table().add_host(name, routes, routes.state_);
    c.done();
}

void router::host(std::string_view name, handler h) {
    change c(*state_);
    c.table().add_host(name, std::move(h), nullptr);
    c.done();
}

void router::add_middleware(unique_function<handler(handler)> m) {
    change c(*state_);
    const std::size_t before = state_->middleware_count();
    state_->add_middleware(std::move(m));
    try {
        c.done();
    } catch (...) {
        // Each later change would call it again.
        state_->drop_middleware_above(before);
        throw;
    }
}

void router::set_not_found(handler h) {
    change c(*state_);
    c.table().own_scope().not_found = std::move(h);
    c.done();
}

void router::set_method_not_allowed(handler h) {
    change c(*state_);
    c.table().own_scope().method_not_allowed = std::move(h);
    c.done();
}

void router::set_fallback(handler h) {
    change c(*state_);
    c.table().own_scope().fallback = std::move(h);
    c.done();
}

void router::set_preflight(handler h) {
    change c(*state_);
    c.table().own_scope().preflight = std::move(h);
    c.done();
}

void router::set_error_page(status code, handler h) {
    change c(*state_);
    c.table().add_page(code, std::move(h));
    c.done();
}

void router::problem_details(bool on) {
    change c(*state_);
    c.table().problems = on;
    c.done();
}

std::string router::url(std::string_view name, std::span<const url_param> values) const {
    const auto build = [&](const detail::route_names& names) {
        const detail::route_record* route = names.find(name);
        if (route == nullptr) {
            throw_exception(error(std::errc::invalid_argument, "url")
                                .on("no route is called \"" + std::string(name) + '"'));
        }
        return detail::build_path(*route, values);
    };
    if (!state_->is_served()) {
        change c(*state_);
        return build(c.table().names());
    }
    // Handlers call this too, so without a lock: no code on this thread can replace the table
    // meanwhile.
    return build(state_->live().of_this_thread().of->table.names());
}

std::vector<route_info> router::routes() const {
    return detail::list_routes(*state_);
}

std::string router::describe() const {
    return detail::describe_routes(*state_);
}

struct router::batch::before {
    explicit before(detail::router_state& s) : held(s, true), middleware(s.middleware_count()) {}
    change held;
    std::size_t middleware;
};

router::batch::batch(router& r) : state_(r.state_), before_(std::make_unique<before>(*r.state_)) {}

router::batch::~batch() {
    if (before_ == nullptr) return;
    state_->drop_middleware_above(before_->middleware);
}

void router::batch::commit() {
    before_->held.done();
    before_.reset();
}

}  // namespace coracle::http
