#pragma once

#include "http/router/counted.hpp"
#include "http/router/route_set.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace coracle::http::detail {

struct tree_node;
struct branch_set;
void destroy(tree_node* n) noexcept;
void destroy(branch_set* b) noexcept;
using node_ref = counted_ref<tree_node>;

enum class node_kind : std::uint8_t { bare, four, sixteen, forty_eight, full };

/// A node of an Adaptive Radix Tree (Leis, Kemper, Neumann: "The Adaptive Radix Tree", 2013). It
/// stands after its prefix; the byte that follows chooses a child, which stands after that byte.
/// One cache line, which holds the keys of up to 16 children: the same instructions find them in
/// every node up to that size.
struct alignas(64) tree_node : counted {
    static constexpr std::size_t longest_prefix = 16;

    explicit tree_node(node_kind k) noexcept : kind(k) {}

    node_kind kind;
    std::uint8_t prefix_size = 0;
    std::uint16_t count = 0;           ///< children
    route_set_ref routes;              ///< routes of the pattern that ends here
    node_ref parameter;                ///< after a whole segment, from here on
    counted_ref<branch_set> branches;  ///< other branches that are not literal
    char prefix[longest_prefix] = {};
    alignas(16) unsigned char keys[16] = {};

    void set_prefix(std::string_view text) noexcept {
        prefix_size = static_cast<std::uint8_t>(text.size());
        std::copy(text.begin(), text.end(), prefix);
    }
    std::string_view prefix_text() const noexcept { return {prefix, prefix_size}; }
    /// Returns true if there is no route here or below.
    bool is_empty() const noexcept { return count == 0 && !routes && !parameter && !branches; }
};

template <node_kind Kind, std::size_t Room>
struct packed_node : tree_node {
    packed_node() noexcept : tree_node(Kind) {}
    node_ref children[Room];
};
static_assert(sizeof(tree_node) == 64, "the children of a packed node follow at once");
using node_of_4 = packed_node<node_kind::four, 4>;
using node_of_16 = packed_node<node_kind::sixteen, 16>;

struct node_of_48 : tree_node {
    static constexpr unsigned char none = 0xFF;
    node_of_48() noexcept : tree_node(node_kind::forty_eight) {
        std::memset(places, none, sizeof places);
    }
    unsigned char places[256];  ///< which child, by key
    node_ref children[48];
};

struct node_of_256 : tree_node {
    node_of_256() noexcept : tree_node(node_kind::full) {}
    node_ref children[256];
};

/// A parameter that may begin at a node and is not a whole segment of any content.
struct parameter_branch {
    std::shared_ptr<const segment_regex> regex;
    std::string suffix;
    node_ref child;
};

/// A rest that an expression has to match.
struct rest_branch {
    std::shared_ptr<const segment_regex> regex;
    route_set_ref routes;
};

struct branch_set : counted {
    /// The parameters in the order in which they are tried: expressions in that of registration,
    /// then others by the length of their suffix, the longest first.
    std::vector<parameter_branch> parameters;
    /// The rests in the order of registration; tried before the others.
    std::vector<rest_branch> matched_rests;
    route_set_ref rests[rest_policies];

    bool empty() const noexcept;
};

/// Returns the slot of a child, or null.
inline const node_ref* find_place(const tree_node& n, unsigned char key) noexcept {
    if (n.kind <= node_kind::sixteen) [[likely]] {
        // The children of the small ones begin after the line; a bare one has none.
        const auto* const children = reinterpret_cast<const node_ref*>(&n + 1);
#if defined(__SSE2__)
        const __m128i keys = _mm_load_si128(reinterpret_cast<const __m128i*>(n.keys));
        const __m128i equal = _mm_cmpeq_epi8(keys, _mm_set1_epi8(static_cast<char>(key)));
        const unsigned used = (1U << n.count) - 1;
        const unsigned found = static_cast<unsigned>(_mm_movemask_epi8(equal)) & used;
        return found == 0 ? nullptr : children + std::countr_zero(found);
#else
        for (unsigned i = 0; i != n.count; ++i) {
            if (n.keys[i] == key) return children + i;
        }
        return nullptr;
#endif
    }
    if (n.kind == node_kind::forty_eight) {
        const auto& self = static_cast<const node_of_48&>(n);
        const unsigned char place = self.places[key];
        return place == node_of_48::none ? nullptr : &self.children[place];
    }
    const auto& self = static_cast<const node_of_256&>(n);
    return self.children[key] ? &self.children[key] : nullptr;
}

inline const tree_node* find_child(const tree_node& n, char key) noexcept {
    const node_ref* place = find_place(n, static_cast<unsigned char>(key));
    return place == nullptr ? nullptr : place->get();
}

/// Calls f(key, child) for each child.
template <class F>
void each_child(const tree_node& n, F f) {
    if (n.kind <= node_kind::sixteen) {
        for (unsigned i = 0; i != n.count; ++i) {
            const unsigned char key = n.keys[i];
            f(key, *find_place(n, key));
        }
        return;
    }
    for (unsigned key = 0; key != 256; ++key) {
        const node_ref* place = find_place(n, static_cast<unsigned char>(key));
        if (place != nullptr) f(static_cast<unsigned char>(key), *place);
    }
}

node_ref make_node();

/// Makes a node exclusive to this tree: copies it if other trees share it. A node reached through
/// exclusive nodes may be changed then.
void make_own(node_ref& n);
void make_own(counted_ref<branch_set>& b);
void make_own(route_set_ref& r);

/// Adds a child after a key that has none yet. The node, which is not shared, is replaced by a
/// larger one when it is full.
node_ref& add_child(node_ref& n, unsigned char key, node_ref child);
/// Returns the slot of a child in an exclusive node, or null.
node_ref* own_place(node_ref& n, unsigned char key) noexcept;
/// Removes a child of an exclusive node, which is replaced by a smaller one if that has spare
/// capacity, or by its only child.
void remove_child(node_ref& n, unsigned char key);
/// Puts the only child of a node without routes in its place.
void join_only_child(node_ref& n);

}  // namespace coracle::http::detail
