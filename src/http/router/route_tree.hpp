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
    std::size_t visited = 0;                 ///< nodes and expressions that were tried
    value values[request::most_params + 1];  ///< the first `count` are set
};

/// The patterns of a table as an Adaptive Radix Tree over the bytes of their literals, with
/// branches for parameters where these begin. A copy shares everything; what a change touches is
/// copied first where it is shared, the way down to it: O(length of the pattern), whatever the
/// number of routes. Reading is safe from several threads, and beside changes of copies.
///
/// A search tries literals first, then expressions, parameters and rests, and goes back where that
/// leads nowhere. Each parameter takes what is left of its segment, so a node is reached in one way
/// only: a search visits each node, and tries each expression, once at the most.
class route_tree {
public:
    route_tree() : root_(make_node()) {}

    /// The routes at the place of a pattern, to be changed; made where there are none.
    route_set& at(const pattern& p);
    /// The same to be read, or null.
    const route_set* find(const pattern& p) const noexcept;
    /// Removes a place that `find` finds, with what led to nothing else.
    void erase(const pattern& p);

    /// Finds the most specific pattern that matches `path`, which begins with a slash. Allocates
    /// nothing.
    bool match(std::string_view path, route_match& found) const noexcept;

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
            for (const route_set_ref& r : n.branches->rests) {
                if (r) f(std::as_const(*r));
            }
        }
        each_child(n, [&f](unsigned char, const node_ref& child) { each_from(*child, f); });
    }

    node_ref root_;
};

}  // namespace coracle::http::detail
