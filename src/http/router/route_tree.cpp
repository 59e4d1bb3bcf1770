#include "http/router/route_tree.hpp"

#include <algorithm>
#include <cstring>

namespace coracle::http::detail {
namespace {

[[noreturn]] void bad_pattern(std::string_view pattern) {
    throw_exception(error(std::errc::invalid_argument, "route").on(pattern));
}

/// Cuts the first segment, without its slash, off `path`, which begins with a slash.
std::string_view take_segment(std::string_view& path) noexcept {
    // Segments are short: a loop beats a call of memchr.
    std::size_t end = 1;
    while (end != path.size() && path[end] != '/') ++end;
    const std::string_view segment(path.data() + 1, end - 1);
    path.remove_prefix(end);
    return segment;
}

bool by_literal(const std::unique_ptr<route_node>& n, std::string_view segment) noexcept {
    return n->literal < segment;
}

bool match_from(const route_node& node, std::string_view path, route_match& found) noexcept {
    if (path.empty()) {
        if (node.entries.empty()) return false;
        found.node = &node;
        return true;
    }
    std::string_view behind = path;
    const std::string_view segment = take_segment(behind);
    if (const route_node* c = node.find_child(segment); c != nullptr) {
        if (match_from(*c, behind, found)) return true;
    }
    if (node.parameter && !segment.empty() && found.count != std::size(found.values)) {
        found.values[found.count++] = {segment.data(), segment.size()};
        if (match_from(*node.parameter, behind, found)) return true;
        --found.count;
    }
    if (node.rest && found.count != std::size(found.values)) {
        found.values[found.count++] = {path.data() + 1, path.size() - 1};
        found.node = node.rest.get();
        return true;
    }
    return false;
}

}  // namespace

route_node* route_node::child(std::string_view segment, bool make) {
    auto at = std::lower_bound(children.begin(), children.end(), segment, by_literal);
    if (at != children.end() && (*at)->literal == segment) return at->get();
    if (!make) return nullptr;
    auto node = std::make_unique<route_node>();
    node->literal = segment;
    return children.insert(at, std::move(node))->get();
}

const route_node* route_node::find_child(std::string_view segment) const noexcept {
    // A few are compared faster than they are searched.
    if (children.size() <= 8) {
        for (const auto& c : children) {
            if (c->literal.size() == segment.size() &&
                (segment.empty() ||
                 std::memcmp(c->literal.data(), segment.data(), segment.size()) == 0)) {
                return c.get();
            }
        }
        return nullptr;
    }
    const auto at = std::lower_bound(children.begin(), children.end(), segment, by_literal);
    return at != children.end() && (*at)->literal == segment ? at->get() : nullptr;
}

route_node& insert_pattern(route_node& root, std::string_view pattern,
                           std::vector<std::string>& names) {
    if (!pattern.starts_with('/')) bad_pattern(pattern);
    route_node* node = &root;
    std::string_view left = pattern;
    while (!left.empty()) {
        const std::string_view segment = take_segment(left);
        const bool braces = segment.size() > 2 && segment.front() == '{' && segment.back() == '}';
        if (!braces) {
            if (segment.find_first_of("{}*") != std::string_view::npos) bad_pattern(pattern);
            node = node->child(segment, true);
            continue;
        }
        std::string_view name = segment.substr(1, segment.size() - 2);
        const bool is_rest = name.front() == '*';
        if (is_rest) name.remove_prefix(1);
        const bool duplicate = std::find(names.begin(), names.end(), name) != names.end();
        if (name.empty() || duplicate || names.size() == std::size(route_match().values) ||
            name.find_first_of("{}*:") != std::string_view::npos || (is_rest && !left.empty())) {
            bad_pattern(pattern);
        }
        names.emplace_back(name);
        auto& place = is_rest ? node->rest : node->parameter;
        if (!place) place = std::make_unique<route_node>();
        node = place.get();
    }
    return *node;
}

bool match_path(const route_node& root, std::string_view path, route_match& found) noexcept {
    return path.starts_with('/') && match_from(root, path, found);
}

const route_entry* find_method(const route_node& node, method id, std::string_view text) noexcept {
    const route_entry* fallback = nullptr;
    for (const route_entry& e : node.entries) {
        if (e.id == id && (id != method::other || e.method == text) && !e.method.empty()) return &e;
        if (id == method::head && e.id == method::get) fallback = &e;
        if (e.method.empty() && fallback == nullptr) fallback = &e;
    }
    return fallback;
}

std::string allowed_methods(const route_node& node) {
    std::string list;
    const auto add = [&list](std::string_view name) {
        if (!list.empty()) list += ", ";
        list += name;
    };
    bool has_head = false;
    bool has_options = false;
    bool has_get = false;
    for (const route_entry& e : node.entries) {
        if (e.method.empty()) continue;
        add(e.method);
        has_head = has_head || e.id == method::head;
        has_options = has_options || e.id == method::options;
        has_get = has_get || e.id == method::get;
    }
    if (has_get && !has_head) add("HEAD");
    if (!has_options) add("OPTIONS");
    return list;
}

}  // namespace coracle::http::detail
