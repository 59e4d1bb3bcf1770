#pragma once

#include "http/router/host_table.hpp"
#include "http/router/route_names.hpp"
#include "http/router/route_tree.hpp"

#include <coracle/http/status.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace coracle::http::detail {

/// What a router says where no route does; a mounted router has its own beneath its prefix.
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
    std::vector<page> pages;

    bool says_something() const noexcept {
        return not_found || method_not_allowed || fallback || !pages.empty();
    }
};

/// All that a router knows at one time: a value. A copy shares what is large; a change copies what
/// it touches.
class route_table {
public:
    route_table();

    const route_tree& routes() const noexcept { return routes_; }
    const route_names& names() const noexcept { return *names_; }
    /// Null without hosts.
    const host_table* hosts() const noexcept { return hosts_.get(); }
    const std::vector<route_scope>& scopes() const noexcept { return *scopes_; }
    bool has_pages() const noexcept { return has_pages_; }

    /// Adds one route for several methods, or none of them. Throws `exception` (file_exists) with a
    /// sentence that names both routes.
    void add(const std::vector<std::string>& methods, const record_ref& record);
    /// The same instead of what is there; the place and its turn among expressions stay.
    void replace(const std::vector<std::string>& methods,
                 const std::shared_ptr<route_record>& record);
    /// Those of the methods that have a route there: false when none has.
    bool remove(const std::vector<std::string>& methods, const pattern& p);
    /// Throws `exception`: file_exists when another has the name, invalid_argument when the route
    /// is not there any more.
    void name(std::string_view name, const record_ref& route);
    void add_host(std::string_view name, handler target, std::shared_ptr<router_state> routes);

    route_scope& own_scope() { return scopes_to_change().front(); }
    /// Adds a scope and gives its number.
    std::size_t add_scope(route_scope s);
    void add_page(http::status code, handler make);

    /// The scopes that hold at a path, the narrowest first: the one found first for which
    /// `has(scope)` is true, or null.
    template <class F>
    const route_scope* scope_of(std::string_view path, F has) const {
        std::size_t i = narrowest_scope(path);
        while (!has((*scopes_)[i])) {
            if (i == 0) return nullptr;
            i = (*scopes_)[i].parent;
        }
        return &(*scopes_)[i];
    }
    /// What makes the error page of a status at a path, or null.
    const handler* page_for(http::status code, std::string_view path) const noexcept;

    /// The methods that some route has, for `OPTIONS *`.
    std::string all_methods() const;

    /// The routes with the methods that they still have, in order of registration.
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
    std::size_t narrowest_scope(std::string_view path) const noexcept;

    route_tree routes_;
    route_tree scope_tree_;
    std::shared_ptr<std::vector<route_scope>> scopes_;
    std::shared_ptr<route_names> names_;
    std::shared_ptr<host_table> hosts_;
    std::vector<method_count> methods_;
    bool has_pages_ = false;
};

}  // namespace coracle::http::detail
