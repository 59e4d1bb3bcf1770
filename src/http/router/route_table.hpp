#pragma once

#include "http/error_style.hpp"
#include "http/router/host_table.hpp"
#include "http/router/route_names.hpp"
#include "http/router/route_tree.hpp"

#include <coracle/http/status.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace coracle::http::detail {

/// The router's own handlers for requests without a route; a mounted router has its own below its
/// prefix.
struct route_scope {
    struct page {
        http::status code;
        handler make;
    };

    std::string prefix;  ///< empty: everywhere
    std::size_t parent = 0;
    handler not_found;
    handler method_not_allowed;
    handler fallback;
    handler preflight;
    /// OPTIONS of an unknown path without a preflight handler, within the middleware of a group.
    handler unknown_options;
    std::vector<page> pages;

    bool says_something() const noexcept {
        return not_found || method_not_allowed || fallback || preflight || unknown_options ||
               !pages.empty();
    }
    /// Takes over what another router at the same prefix has, and this one lacks.
    void add(route_scope&& other);
};

/// A version of all routes and handlers of a router: a value. Copies share large parts; a change
/// copies the parts that it modifies.
class route_table final : public error_style {
public:
    route_table();

    const route_tree& routes() const noexcept { return routes_; }
    const route_names& names() const noexcept { return *names_; }
    /// Null without hosts.
    const host_table* hosts() const noexcept { return hosts_.get(); }
    const std::vector<route_scope>& scopes() const noexcept { return *scopes_; }
    /// Returns true if errors are shown otherwise than as plain text.
    bool styles_errors() const noexcept { return has_pages_ || problems; }
    bool has_page(http::status code, std::string_view path) const override {
        return page_for(code, path) != nullptr;
    }

    /// Adds one route for several methods, all or none. Throws `exception` (already_exists) with a
    /// sentence that names both routes.
    void add(const std::vector<std::string>& methods, const record_ref& record);
    /// Replaces a route; its order among expressions stays.
    void replace(const std::vector<std::string>& methods,
                 const std::shared_ptr<route_record>& record);
    /// Removes the routes of these methods. Returns false if there is none.
    bool remove(const std::vector<std::string>& methods, const pattern& p);
    /// Throws `exception`: already_exists when another has the name, invalid_argument when the
    /// route is not there any more.
    void name(std::string_view name, const record_ref& route);
    void add_host(std::string_view name, handler target, std::shared_ptr<router_state> routes);

    route_scope& own_scope() { return scopes_to_change().front(); }
    /// Adds a scope and returns its number.
    std::size_t add_scope(route_scope s);
    void add_page(http::status code, handler make);

    /// Returns the narrowest scope at a path for which `has(scope)` is true, or null.
    template <class F>
    const route_scope* scope_of(std::string_view path, F has) const {
        std::size_t i = narrowest_scope(path);
        while (!has((*scopes_)[i])) {
            if (i == 0) return nullptr;
            i = (*scopes_)[i].parent;
        }
        return &(*scopes_)[i];
    }
    /// Returns the handler that makes the error page of a status at a path, or null.
    const handler* page_for(http::status code, std::string_view path) const;

    /// Returns the methods of all routes, for `OPTIONS *`.
    std::string all_methods() const;

    /// Returns the routes with their current methods, in order of registration.
    struct listed_route {
        record_ref record;
        std::vector<std::string> methods;
    };
    std::vector<listed_route> list() const;

private:
    struct method_count {
        std::string method;
        std::size_t routes;
    };

    void refuse_existing(const std::vector<std::string>& methods, const route_record& r) const;
    void forget_names(const route_set& set, const std::vector<record_ref>& gone);
    void count(const std::string& method, bool more);
    std::vector<route_scope>& scopes_to_change();
    std::size_t narrowest_scope(std::string_view path) const;

    route_tree routes_;
    route_tree scope_tree_;
    std::shared_ptr<std::vector<route_scope>> scopes_;
    std::shared_ptr<route_names> names_;
    std::shared_ptr<host_table> hosts_;
    std::vector<method_count> methods_;
    bool has_pages_ = false;
};

}  // namespace coracle::http::detail
