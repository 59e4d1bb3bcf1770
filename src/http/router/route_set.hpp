#pragma once

#include "http/router/counted.hpp"
#include "http/router/pattern.hpp"

#include <coracle/http/handler.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http::detail {

/// A route as it was registered. Immutable.
struct route_record {
    http::detail::pattern pattern;
    std::vector<std::string> names;
    handler target;
    /// Responds to OPTIONS within the middleware of the groups that the route is in; empty without
    /// middleware.
    handler options;
    /// The parameters that the handler requires; those of middleware around it are unknown.
    std::vector<std::string> wanted;
    std::uint64_t sequence = 0;  ///< of its registration
    std::size_t scope = 0;       ///< the number of its scope
};
using record_ref = std::shared_ptr<const route_record>;

/// The methods that have a route at one place of the tree.
struct route_set : counted {
    struct entry {
        std::string method;  ///< empty: any
        http::method id = http::method::other;
        record_ref record;
    };
    static constexpr std::size_t known_methods = 10;

    route_set() = default;
    route_set(const route_set&) = default;

    void add(std::string_view method, record_ref record);
    /// Removes the route of a method, if there is one.
    void remove(std::string_view method);
    const entry* find_entry(std::string_view method) const noexcept;

    /// Returns the route for a method, or null: the method's own, for HEAD that of GET, then the
    /// one for any.
    const route_record* find(http::method id, std::string_view text) const noexcept {
        if (id != http::method::other) return by_method[static_cast<std::size_t>(id)];
        return find_other(text);
    }

    std::vector<entry> entries;
    /// The result of `find` for a method with a number; for `other` the route for any.
    const route_record* by_method[known_methods] = {};
    std::string allow;  ///< RFC 9110 section 10.2.1

private:
    const route_record* find_other(std::string_view text) const noexcept;
    void changed();
};

inline void destroy(route_set* s) noexcept {
    delete s;
}
using route_set_ref = counted_ref<route_set>;

/// Returns the methods of a list like "GET, POST"; one empty name, any method, for "" and "*".
/// Throws `exception` (invalid_argument) if one is invalid or repeated.
std::vector<std::string> parse_methods(std::string_view list, std::string_view pattern);

}  // namespace coracle::http::detail
