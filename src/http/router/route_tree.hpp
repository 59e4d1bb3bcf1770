#pragma once

#include <coracle/http/handler.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http::detail {

/// One method of one pattern.
struct route_entry {
    std::string method;  ///< empty: any
    http::method id = http::method::other;
    handler target;
    std::vector<std::string> names;
};

/// A node of the tree of path segments.
struct route_node {
    std::string literal;
    std::vector<std::unique_ptr<route_node>> children;  ///< sorted by literal
    std::unique_ptr<route_node> parameter;              ///< {name}
    std::unique_ptr<route_node> rest;                   ///< {*name}
    std::vector<route_entry> entries;
    std::string pattern;

    route_node* child(std::string_view segment, bool make);
    const route_node* find_child(std::string_view segment) const noexcept;
};

struct route_match {
    struct value {
        const char* data;
        std::size_t size;
    };
    const route_node* node = nullptr;
    std::size_t count = 0;
    value values[16];  ///< the first `count` are set
};

/// Adds a pattern; throws on a malformed one. Gives its node and the names of its parameters.
route_node& insert_pattern(route_node& root, std::string_view pattern,
                           std::vector<std::string>& names);

/// The most specific node that matches `path` and has routes.
bool match_path(const route_node& root, std::string_view path, route_match& found) noexcept;

/// The entry for a method, or null. HEAD falls back on GET.
const route_entry* find_method(const route_node& node, method id, std::string_view text) noexcept;

/// The value of Allow (RFC 9110 section 10.2.1).
std::string allowed_methods(const route_node& node);

}  // namespace coracle::http::detail
