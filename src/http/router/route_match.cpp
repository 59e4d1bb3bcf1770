// The search: the part of the router that every request passes.

#include "http/router/route_tree.hpp"
#include "http/router/segment_regex.hpp"

#include <algorithm>

namespace coracle::http::detail {
namespace {

/// Prefixes are a few bytes: less than a call of memcmp.
bool same_bytes(const char* a, const char* b, std::size_t size) noexcept {
    while (size >= 8) {
        std::uint64_t x;
        std::uint64_t y;
        std::memcpy(&x, a, 8);
        std::memcpy(&y, b, 8);
        if (x != y) return false;
        a += 8;
        b += 8;
        size -= 8;
    }
    if (size >= 4) {
        std::uint32_t x;
        std::uint32_t y;
        std::memcpy(&x, a, 4);
        std::memcpy(&y, b, 4);
        if (x != y) return false;
        a += 4;
        b += 4;
        size -= 4;
    }
    for (std::size_t i = 0; i != size; ++i) {
        if (a[i] != b[i]) return false;
    }
    return true;
}

bool is_safe(std::string_view rest) noexcept {
    for (std::size_t i = 0; i != rest.size(); ++i) {
        const char c = rest[i];
        if (c == '\0' || c == '\\') return false;
        if (c == '%' && rest.substr(i, 3) == "%2F") return false;
        if (c != '.' || (i != 0 && rest[i - 1] != '/')) continue;
        const std::string_view behind = rest.substr(i + 1);
        if (behind == "." || behind.starts_with("./")) return false;
    }
    return true;
}

bool takes(rest_policy policy, std::string_view rest) noexcept {
    switch (policy) {
        case rest_policy::segment: return rest.find('/') == std::string_view::npos;
        case rest_policy::safe: return is_safe(rest);
        case rest_policy::any: break;
    }
    return true;
}

bool take_rest(const branch_set& set, std::string_view left, route_match& found) noexcept {
    for (std::size_t i = 0; i != rest_policies; ++i) {
        if (!set.rests[i] || !takes(static_cast<rest_policy>(i), left)) continue;
        found.values[found.count++] = {left.data(), left.size()};
        found.found = set.rests[i].get();
        return true;
    }
    return false;
}

/// How many bytes of a segment the parameter takes; 0 when it does not match.
std::size_t taken_by(const parameter_branch& b, std::string_view segment) noexcept {
    if (b.suffix.size() >= segment.size()) return 0;
    const std::size_t size = segment.size() - b.suffix.size();
    if (!b.suffix.empty() && segment.substr(size) != b.suffix) return 0;
    return b.regex == nullptr || b.regex->matches(segment.substr(0, size)) ? size : 0;
}

bool search(const tree_node* n, const char* at, const char* end, route_match& found) noexcept;

bool search_branches(const branch_set& set, const char* at, const char* end,
                     route_match& found) noexcept {
    const char* stop = at;
    while (stop != end && *stop != '/') ++stop;
    const std::string_view segment(at, static_cast<std::size_t>(stop - at));
    for (const parameter_branch& b : set.parameters) {
        if (b.regex) ++found.visited;
        const std::size_t size = taken_by(b, segment);
        if (size == 0) continue;
        found.values[found.count++] = {at, size};
        if (search(b.child.get(), stop, end, found)) return true;
        --found.count;
    }
    return take_rest(set, {at, static_cast<std::size_t>(end - at)}, found);
}

bool search(const tree_node* n, const char* at, const char* end, route_match& found) noexcept {
    for (;;) {
        ++found.visited;
        const std::size_t size = n->prefix_size;
        if (static_cast<std::size_t>(end - at) < size || !same_bytes(at, n->prefix, size)) {
            return false;
        }
        at += size;
        const branch_set* const branches = n->branches.get();
        if (at == end) {
            found.found = n->routes.get();
            return found.found != nullptr ||
                   (branches != nullptr && take_rest(*branches, {at, 0}, found));
        }
        const tree_node* const child = find_child(*n, *at);
        if (branches != nullptr) {
            if (child != nullptr && search(child, at + 1, end, found)) return true;
            return search_branches(*branches, at, end, found);
        }
        if (child == nullptr) return false;
        n = child;
        ++at;
    }
}

}  // namespace

bool route_tree::match(std::string_view path, route_match& found) const noexcept {
    return search(root_.get(), path.data(), path.data() + path.size(), found);
}

}  // namespace coracle::http::detail
