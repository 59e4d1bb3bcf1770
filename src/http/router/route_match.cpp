// The search, which every request runs.

#include "http/message/token.hpp"
#include "http/router/route_tree.hpp"
#include "http/router/segment_regex.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace coracle::http::detail {
namespace {

bool is_safe(std::string_view rest) noexcept {
    for (std::size_t i = 0; i != rest.size(); ++i) {
        const char c = rest[i];
        if (c == '\0' || c == '\\') return false;
        // In lower case it comes of "%252f", and is a slash for who decodes it.
        if (c == '%' && equal_ignoring_case(rest.substr(i, 3), "%2F")) return false;
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

/// Returns how many bytes of a segment the suffix of a branch leaves to its parameters; 0 without
/// it.
std::size_t left_by_suffix(const parameter_branch& b, std::string_view segment) noexcept {
    if (b.suffix.size() >= segment.size()) return 0;
    const std::size_t size = segment.size() - b.suffix.size();
    return b.suffix.empty() || segment.substr(size) == b.suffix ? size : 0;
}

/// Compares bytes of a path one after the other, for paths that are not worth a copy or too long
/// for it.
struct plain_bytes {
    static bool begins_with(const char* at, const char* prefix, std::size_t size) noexcept {
        for (std::size_t i = 0; i != size; ++i) {
            if (at[i] != prefix[i]) return false;
        }
        return true;
    }
    static const char* segment_end(const char* at, const char* end) noexcept {
        while (at != end && *at != '/') ++at;
        return at;
    }
};

#if defined(__SSE2__)
/// Compares bytes of a path with a slash and 15 bytes more after its end: lengths that vary from
/// path to path cost no mispredicted branch. 30% less for a path with three parameters.
struct padded_bytes {
    static constexpr std::size_t padding = 16;

    static unsigned equal(const char* at, __m128i to) noexcept {
        const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        return static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(block, to)));
    }
    static bool begins_with(const char* at, const char* prefix, std::size_t size) noexcept {
        const unsigned wanted = (1U << size) - 1;
        const __m128i block = _mm_load_si128(reinterpret_cast<const __m128i*>(prefix));
        return (equal(at, block) & wanted) == wanted;
    }
    static const char* segment_end(const char* at, const char*) noexcept {
        unsigned found = 0;
        while ((found = equal(at, _mm_set1_epi8('/'))) == 0) at += 16;
        return at + std::countr_zero(found);
    }
};
static_assert(tree_node::longest_prefix == padded_bytes::padding);
#endif

template <class Bytes>
class searcher {
public:
    searcher(const char* end, route_match& found) noexcept : end_(end), found_(found) {}

    bool search(const tree_node* n, const char* at) {
        for (;;) {
            ++found_.visited;
            const std::size_t size = n->prefix_size;
            if (static_cast<std::size_t>(end_ - at) < size ||
                !Bytes::begins_with(at, n->prefix, size)) {
                return false;
            }
            at += size;
            if (at == end_) return ends_at(*n);
            const tree_node* const child = find_child(*n, *at);
            if (!n->parameter && !n->branches) {
                if (child == nullptr) return false;
                n = child;
                ++at;
                continue;
            }
            const std::size_t count = found_.count;
            if (child != nullptr) {
                if (search(child, at + 1)) return true;
                found_.count = count;
            }
            const char* const stop = Bytes::segment_end(at, end_);
            if (n->branches) return search_branches(*n, at, stop);
            if (stop == at) return false;
            take(at, stop);
            n = n->parameter.get();
            at = stop;
        }
    }

private:
    void take(const char* from, const char* to) noexcept {
        found_.values[found_.count++] = {from, static_cast<std::size_t>(to - from)};
    }

    /// Takes the values of an expression, if it matches.
    bool take_matched(const segment_regex& regex, std::string_view text) {
        ++found_.visited;
        std::string_view values[request::most_params];
        if (!regex.match(text, values)) return false;
        for (std::size_t i = 0; i != regex.values(); ++i) {
            take(values[i].data(), values[i].data() + values[i].size());
        }
        return true;
    }

    bool ends_at(const tree_node& n) {
        found_.found = n.routes.get();
        return found_.found != nullptr || (n.branches && take_rest(*n.branches, end_));
    }

    bool search_branches(const tree_node& n, const char* at, const char* stop) {
        const std::string_view segment(at, static_cast<std::size_t>(stop - at));
        const std::size_t count = found_.count;
        for (const parameter_branch& b : n.branches->parameters) {
            const std::size_t size = left_by_suffix(b, segment);
            if (size == 0) continue;
            if (b.regex == nullptr)
                take(at, at + size);
            else if (!take_matched(*b.regex, segment.substr(0, size)))
                continue;
            if (search(b.child.get(), stop)) return true;
            found_.count = count;
        }
        if (n.parameter && stop != at) {
            take(at, stop);
            if (search(n.parameter.get(), stop)) return true;
            found_.count = count;
        }
        return take_rest(*n.branches, at);
    }

    bool take_rest(const branch_set& set, const char* at) {
        const std::string_view left(at, static_cast<std::size_t>(end_ - at));
        for (const rest_branch& r : set.matched_rests) {
            if (!take_matched(*r.regex, left)) continue;
            found_.found = r.routes.get();
            return true;
        }
        for (std::size_t i = 0; i != rest_policies; ++i) {
            if (!set.rests[i] || !takes(static_cast<rest_policy>(i), left)) continue;
            take(at, end_);
            found_.found = set.rests[i].get();
            return true;
        }
        return false;
    }

    const char* end_;
    route_match& found_;
};

#if defined(__SSE2__)
/// The sizes of paths that are copied: shorter ones are not worth it, longer ones too large for the
/// stack.
constexpr std::size_t shortest_copy = 16;
constexpr std::size_t longest_copy = 256;

[[gnu::noinline]] bool search_copy(const tree_node* root, std::string_view path,
                                   route_match& found) {
    char bytes[longest_copy + padded_bytes::padding];
    std::memcpy(bytes, path.data(), path.size());
    std::memset(bytes + path.size(), '/', padded_bytes::padding);
    searcher<padded_bytes> s(bytes + path.size(), found);
    if (!s.search(root, bytes)) return false;
    for (std::size_t i = 0; i != found.count; ++i) {
        found.values[i].data = path.data() + (found.values[i].data - bytes);
    }
    return true;
}
#endif

}  // namespace

bool route_tree::match(std::string_view path, route_match& found) const {
    const tree_node& root = *root_;
    // "/" is so frequent that it skips the search, which takes 40 instructions.
    if (path == "/" && root.prefix_size == 1 && root.routes) {
        found.found = root.routes.get();
        return true;
    }
#if defined(__SSE2__)
    if (path.size() >= shortest_copy && path.size() <= longest_copy) {
        return search_copy(&root, path, found);
    }
#endif
    return searcher<plain_bytes>(path.data() + path.size(), found).search(&root, path.data());
}

}  // namespace coracle::http::detail
