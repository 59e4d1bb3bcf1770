#include "http/router/tree_node.hpp"

#include <algorithm>

namespace coracle::http::detail {
namespace {

tree_node* allocate(node_kind kind) {
    switch (kind) {
        case node_kind::bare: return new tree_node(kind);
        case node_kind::four: return new node_of_4;
        case node_kind::sixteen: return new node_of_16;
        case node_kind::forty_eight: return new node_of_48;
        case node_kind::full: break;
    }
    return new node_of_256;
}

std::size_t room(node_kind kind) noexcept {
    switch (kind) {
        case node_kind::bare: return 0;
        case node_kind::four: return 4;
        case node_kind::sixteen: return 16;
        case node_kind::forty_eight: return 48;
        case node_kind::full: break;
    }
    return 256;
}

/// Adds a child to a node with a free slot.
node_ref& place_child(tree_node& n, unsigned char key, node_ref child) noexcept {
    const std::size_t at = n.count++;
    switch (n.kind) {
        case node_kind::bare: break;
        case node_kind::four:
            n.keys[at] = key;
            return static_cast<node_of_4&>(n).children[at] = std::move(child);
        case node_kind::sixteen:
            n.keys[at] = key;
            return static_cast<node_of_16&>(n).children[at] = std::move(child);
        case node_kind::forty_eight:
            static_cast<node_of_48&>(n).places[key] = static_cast<unsigned char>(at);
            return static_cast<node_of_48&>(n).children[at] = std::move(child);
        case node_kind::full: break;
    }
    return static_cast<node_of_256&>(n).children[key] = std::move(child);
}

/// Returns a copy of the node with another capacity of children.
node_ref rebuilt(const tree_node& from, node_kind kind) {
    node_ref made(allocate(kind));
    made->set_prefix(from.prefix_text());
    made->routes = from.routes;
    made->parameter = from.parameter;
    made->branches = from.branches;
    each_child(from, [&made](unsigned char key, const node_ref& child) {
        place_child(*made, key, child);
    });
    return made;
}

template <class Node>
void remove_packed(Node& n, unsigned char key) noexcept {
    const std::size_t last = --n.count;
    for (std::size_t i = 0; i <= last; ++i) {
        if (n.keys[i] != key) continue;
        n.keys[i] = n.keys[last];
        n.children[i] = std::move(n.children[last]);
        n.children[last] = node_ref();
        return;
    }
}

void remove_indexed(node_of_48& n, unsigned char key) noexcept {
    const auto last = static_cast<unsigned char>(--n.count);
    const unsigned char at = n.places[key];
    *std::find(std::begin(n.places), std::end(n.places), last) = at;
    n.places[key] = node_of_48::none;
    if (at != last) n.children[at] = std::move(n.children[last]);
    n.children[last] = node_ref();
}

}  // namespace

bool branch_set::empty() const noexcept {
    return parameters.empty() && matched_rests.empty() &&
           std::none_of(std::begin(rests), std::end(rests),
                        [](const route_set_ref& r) { return static_cast<bool>(r); });
}

void destroy(tree_node* n) noexcept {
    switch (n->kind) {
        case node_kind::bare: delete n; break;
        case node_kind::four: delete static_cast<node_of_4*>(n); break;
        case node_kind::sixteen: delete static_cast<node_of_16*>(n); break;
        case node_kind::forty_eight: delete static_cast<node_of_48*>(n); break;
        case node_kind::full: delete static_cast<node_of_256*>(n); break;
    }
}

void destroy(branch_set* b) noexcept {
    delete b;
}

node_ref make_node() {
    return node_ref(allocate(node_kind::bare));
}

void make_own(node_ref& n) {
    if (!n.is_only()) n = rebuilt(*n, n->kind);
}

void make_own(counted_ref<branch_set>& b) {
    if (!b)
        b = counted_ref<branch_set>(new branch_set);
    else if (!b.is_only())
        b = counted_ref<branch_set>(new branch_set(*b));
}

void make_own(route_set_ref& r) {
    if (!r)
        r = route_set_ref(new route_set);
    else if (!r.is_only())
        r = route_set_ref(new route_set(*r));
}

node_ref& add_child(node_ref& n, unsigned char key, node_ref child) {
    if (n->count == room(n->kind)) {
        n = rebuilt(*n, static_cast<node_kind>(static_cast<int>(n->kind) + 1));
    }
    return place_child(*n, key, std::move(child));
}

node_ref* own_place(node_ref& n, unsigned char key) noexcept {
    return const_cast<node_ref*>(find_place(*n, key));
}

void remove_child(node_ref& n, unsigned char key) {
    switch (n->kind) {
        case node_kind::bare: return;
        case node_kind::four: remove_packed(static_cast<node_of_4&>(*n), key); break;
        case node_kind::sixteen: remove_packed(static_cast<node_of_16&>(*n), key); break;
        case node_kind::forty_eight: remove_indexed(static_cast<node_of_48&>(*n), key); break;
        case node_kind::full:
            static_cast<node_of_256&>(*n).children[key] = node_ref();
            --n->count;
            break;
    }
    // Does not shrink as soon as it could: adding and removing one route must not copy each time.
    const auto smaller = static_cast<node_kind>(static_cast<int>(n->kind) - 1);
    if (std::size_t{n->count} * 4 <= room(smaller) * 3) n = rebuilt(*n, smaller);
}

void join_only_child(node_ref& n) {
    if (n->count != 1 || n->routes || n->parameter || n->branches) return;
    node_ref only;
    unsigned char by = 0;
    each_child(*n, [&](unsigned char key, const node_ref& child) {
        by = key;
        only = child;
    });
    const std::size_t size = std::size_t{n->prefix_size} + 1 + only->prefix_size;
    if (size > tree_node::longest_prefix) return;
    std::string prefix(n->prefix_text());
    prefix += static_cast<char>(by);
    prefix += only->prefix_text();
    n = rebuilt(*only, only->kind);
    n->set_prefix(prefix);
}

}  // namespace coracle::http::detail
