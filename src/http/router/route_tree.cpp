// Insertion of patterns into the tree, and removal. The search is in route_match.cpp.

#include "http/router/route_tree.hpp"

#include "http/router/segment_regex.hpp"

#include <algorithm>

namespace coracle::http::detail {
namespace {

std::size_t shared_bytes(std::string_view a, std::string_view b) noexcept {
    const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    return static_cast<std::size_t>(differ.first - a.begin());
}

/// Splits `n` after the first `size` bytes of its prefix: a new node in front takes those, the next
/// byte chooses `n`, and `n` keeps the rest.
void split(node_ref& n, std::size_t size) {
    const std::string prefix(n->prefix_text());
    node_ref front = make_node();
    front->set_prefix(std::string_view(prefix).substr(0, size));
    n->set_prefix(std::string_view(prefix).substr(size + 1));
    add_child(front, static_cast<unsigned char>(prefix[size]), std::move(n));
    n = std::move(front);
}

/// Returns the node after `text`, and makes it if there is none; it is not shared, nor are those on
/// the way.
node_ref& descend(node_ref& from, std::string_view text) {
    node_ref* at = &from;
    for (;;) {
        make_own(*at);
        if ((*at)->is_empty()) (*at)->set_prefix(text.substr(0, tree_node::longest_prefix));
        const std::size_t size = shared_bytes((*at)->prefix_text(), text);
        if (size != (*at)->prefix_size) split(*at, size);
        text.remove_prefix(size);
        if (text.empty()) return *at;
        const auto key = static_cast<unsigned char>(text.front());
        text.remove_prefix(1);
        node_ref* child = own_place(*at, key);
        if (child == nullptr) {
            node_ref fresh = make_node();
            fresh->set_prefix(text.substr(0, tree_node::longest_prefix));
            child = &add_child(*at, key, std::move(fresh));
        }
        at = child;
    }
}

std::string_view regex_of(const pattern_piece& p) noexcept {
    return p.regex ? p.regex->text() : std::string_view();
}

bool is_branch_of(const parameter_branch& b, const pattern_piece& p) noexcept {
    const std::string_view regex = b.regex ? b.regex->text() : std::string_view();
    return regex == regex_of(p) && b.suffix == p.text;
}

bool is_before(const pattern_piece& p, const parameter_branch& b) noexcept {
    if (p.regex || b.regex) return p.regex != nullptr && b.regex == nullptr;
    return p.text.size() > b.suffix.size();
}

bool is_plain(const pattern_piece& p) noexcept {
    return p.regex == nullptr && p.text.empty();
}

/// Returns the node after a parameter, and makes it if there is none; it may still be shared.
node_ref& branch(node_ref& n, const pattern_piece& p) {
    make_own(n);
    if (is_plain(p)) {
        if (!n->parameter) n->parameter = make_node();
        return n->parameter;
    }
    make_own(n->branches);
    auto& all = n->branches->parameters;
    const auto same = [&p](const parameter_branch& b) { return is_branch_of(b, p); };
    auto at = std::find_if(all.begin(), all.end(), same);
    if (at == all.end()) {
        at = std::find_if(all.begin(), all.end(),
                          [&p](const parameter_branch& b) { return is_before(p, b); });
        at = all.insert(at, {p.regex, p.text, make_node()});
    }
    return at->child;
}

/// Returns the node after a literal, or null.
const tree_node* look_down(const tree_node* n, std::string_view text) noexcept {
    for (;;) {
        if (!text.starts_with(n->prefix_text())) return nullptr;
        text.remove_prefix(n->prefix_size);
        if (text.empty()) return n;
        n = find_child(*n, text.front());
        if (n == nullptr) return nullptr;
        text.remove_prefix(1);
    }
}

/// Returns the node after a parameter, or null.
const tree_node* look_into(const tree_node& n, const pattern_piece& p) noexcept {
    if (is_plain(p)) return n.parameter.get();
    if (!n.branches) return nullptr;
    for (const parameter_branch& b : n.branches->parameters) {
        if (is_branch_of(b, p)) return b.child.get();
    }
    return nullptr;
}

using piece = const pattern_piece*;

void erase_from(node_ref& n, piece at, piece end);

/// The routes of a rest, or null. Of `branch_set` or `const branch_set`.
template <class Set>
auto find_rest(Set& set, const pattern_piece& p) noexcept -> decltype(&set.rests[0]) {
    if (p.regex == nullptr) return &set.rests[static_cast<std::size_t>(p.policy)];
    for (auto& r : set.matched_rests) {
        if (r.regex->text() == p.regex->text()) return &r.routes;
    }
    return nullptr;
}

/// Returns the routes of a rest, and makes them if there are none; they are not shared.
route_set_ref& own_rest(tree_node& n, const pattern_piece& p) {
    make_own(n.branches);
    route_set_ref* rest = find_rest(*n.branches, p);
    if (rest == nullptr) {
        n.branches->matched_rests.push_back({p.regex, {}});
        rest = &n.branches->matched_rests.back().routes;
    }
    make_own(*rest);
    return *rest;
}

void erase_rest(tree_node& n, const pattern_piece& p) {
    make_own(n.branches);
    *find_rest(*n.branches, p) = route_set_ref();
    std::erase_if(n.branches->matched_rests, [](const rest_branch& r) { return !r.routes; });
    if (n.branches->empty()) n.branches = {};
}

void erase_branch(tree_node& n, piece at, piece end) {
    if (is_plain(*at)) {
        erase_from(n.parameter, at + 1, end);
        if (n.parameter->is_empty()) n.parameter = {};
        return;
    }
    make_own(n.branches);
    auto& all = n.branches->parameters;
    const auto b = std::find_if(all.begin(), all.end(), [at](const parameter_branch& candidate) {
        return is_branch_of(candidate, *at);
    });
    erase_from(b->child, at + 1, end);
    if (b->child->is_empty()) all.erase(b);
    if (n.branches->empty()) n.branches = {};
}

/// Erases the route at the end of `text` and then the pieces. It is known to exist.
void erase_behind(node_ref& n, std::string_view text, piece at, piece end) {
    make_own(n);
    text.remove_prefix(n->prefix_size);
    if (!text.empty()) {
        const auto key = static_cast<unsigned char>(text.front());
        node_ref& child = *own_place(n, key);
        erase_behind(child, text.substr(1), at, end);
        if (child->is_empty()) remove_child(n, key);
    } else if (at == end) {
        n->routes = route_set_ref();
    } else if (at->what == pattern_piece::kind::rest) {
        erase_rest(*n, *at);
    } else {
        erase_branch(*n, at, end);
    }
    join_only_child(n);
}

void erase_from(node_ref& n, piece at, piece end) {
    const bool literal = at != end && at->what == pattern_piece::kind::literal;
    erase_behind(n, literal ? std::string_view(at->text) : std::string_view(),
                 literal ? at + 1 : at, end);
}

}  // namespace

route_set& route_tree::at(const pattern& p) {
    node_ref* n = &root_;
    for (const pattern_piece& piece : p.pieces) {
        if (piece.what == pattern_piece::kind::literal) {
            n = &descend(*n, piece.text);
        } else if (piece.what == pattern_piece::kind::parameter) {
            n = &branch(*n, piece);
        } else {
            return *own_rest(**n, piece);
        }
    }
    // A branch leads to the front of its node, a literal to its end.
    if (p.pieces.back().what == pattern_piece::kind::parameter) n = &descend(*n, {});
    make_own((*n)->routes);
    return *(*n)->routes;
}

const route_set* route_tree::find(const pattern& p) const noexcept {
    const tree_node* n = root_.get();
    for (const pattern_piece& piece : p.pieces) {
        if (piece.what == pattern_piece::kind::literal) {
            n = look_down(n, piece.text);
        } else if (piece.what == pattern_piece::kind::parameter) {
            n = look_into(*n, piece);
        } else {
            if (!n->branches) return nullptr;
            const route_set_ref* const rest = find_rest(std::as_const(*n->branches), piece);
            return rest == nullptr ? nullptr : rest->get();
        }
        if (n == nullptr) return nullptr;
    }
    const bool in_front = p.pieces.back().what == pattern_piece::kind::parameter;
    return in_front && n->prefix_size != 0 ? nullptr : n->routes.get();
}

void route_tree::erase(const pattern& p) {
    if (find(p) == nullptr) return;
    erase_from(root_, p.pieces.data(), p.pieces.data() + p.pieces.size());
}

}  // namespace coracle::http::detail
