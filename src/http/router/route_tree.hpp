#pragma once

#include "http/router/tree_node.hpp"

#include <coracle/http/request.hpp>

#include <cstddef>
#include <string_view>

namespace coracle::http::detail {

struct route_match {
    struct value {
        const char* data;
        std::size_t size;
    };
    const route_set* found = nullptr;
    std::size_t count = 0;
    std::size_t visited = 0;                 ///< nodes and expressions tried
    value values[request::most_params + 1];  ///< the first `count` are set
};

/// The patterns of a table as an Adaptive Radix Tree over the bytes of their literals, with
/// branches for parameters. Copies share all nodes; a change first copies the shared nodes on its
/// path: O(length of the pattern), whatever the number of routes. Reading is safe from several
/// threads, also while copies change.
///
/// A search tries literals first, then expressions, parameters and rests, and backtracks where they
/// lead to no route. Each parameter takes the rest of its segment, so there is only one way to a
/// node: a search visits each node, and tries each expression, at most once.
class route_tree {
public:
    route_tree() : root_(make_node()) {}

    /// Returns the routes of a pattern, to change them; adds an empty set if there is none.
    route_set& at(const pattern& p);
    /// Returns the routes for reading, or null.
    const route_set* find(const pattern& p) const noexcept;
    /// Removes a pattern that `find` finds, and the nodes that only it used.
    void erase(const pattern& p);

    /// Finds the most specific pattern that matches `path`, which begins with a slash. Allocates
    /// nothing.
    bool match(std::string_view path, route_match& found) const;

    /// Calls f(const route_set&) for each place, in no order.
    template <class F>
    void each(F f) const {
        each_from(*root_, f);
    }

private:
    template <class F>
    static void each_from(const tree_node& n, F& f) {
        if (n.routes) f(std::as_const(*n.routes));
        if (n.parameter) each_from(*n.parameter, f);
        if (n.branches) {
            for (const parameter_branch& b : n.branches->parameters) each_from(*b.child, f);
            for (const rest_branch& r : n.branches->matched_rests) f(std::as_const(*r.routes));
            for (const route_set_ref& r : n.branches->rests) {
                if (r) f(std::as_const(*r));
            }
        }
        each_child(n, [&f](unsigned char, const node_ref& child) { each_from(*child, f); });
    }

    node_ref root_;
};

}  // namespace coracle::http::detail
