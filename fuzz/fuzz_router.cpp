// Patterns and paths, from the bytes of the input, for the tree of the router and for a matcher
// that tries every pattern. Checked: both find the same pattern with the same parameters, within
// the bound of a search, also after patterns were removed, and a copy of the tree from before still
// finds what it did.
#include "exact_bytes.hpp"
#include "http/router/route_tree.hpp"
#include "http/router/segment_regex.hpp"
#include "require.hpp"

#include <coracle/base/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace coracle::http::detail;
using kind = pattern_piece::kind;

namespace {

struct route {
    pattern p;
    std::size_t number = 0;
};

struct outcome {
    std::size_t number = 0;
    std::vector<std::string> values;
    friend bool operator==(const outcome&, const outcome&) = default;
};

bool rest_fits(rest_policy policy, std::string_view rest) {
    if (policy == rest_policy::any) return true;
    if (policy == rest_policy::segment) return rest.find('/') == std::string_view::npos;
    const std::string framed = "/" + std::string(rest) + "/";
    return rest.find('\0') == std::string_view::npos && rest.find('\\') == std::string_view::npos &&
           rest.find("%2F") == std::string_view::npos && framed.find("/../") == std::string::npos;
}

/// The one named group that the expressions here have: a first "a".
void add_group(const segment_regex* regex, std::string_view value, std::vector<std::string>& out) {
    if (regex != nullptr && !regex->groups().empty()) out.emplace_back(value.substr(0, 1));
}

/// The values of the parts from `i` on, which take all of `text`: plain ones as little as they can,
/// expressions as much.
bool match_parts(const pattern_piece& p, std::size_t i, std::string_view text,
                 std::vector<std::string>& values) {
    const pattern_piece::part& one = p.parts[i];
    const bool last = i + 1 == p.parts.size();
    const std::size_t count = values.size();
    for (std::size_t n = 0; n <= text.size(); ++n) {
        const std::size_t size = last || one.regex ? text.size() - n : n;
        const std::string_view value = text.substr(0, size);
        const std::string_view rest = text.substr(size);
        if (last && !rest.empty()) return false;
        if (one.regex ? !one.regex->matches(value) : value.empty()) continue;
        if (!rest.starts_with(one.text)) continue;
        values.emplace_back(value);
        add_group(one.regex.get(), value, values);
        if (last || match_parts(p, i + 1, rest.substr(one.text.size()), values)) return true;
        values.resize(count);
    }
    return false;
}

/// The values that a pattern gives to a path, piece by piece.
std::optional<std::vector<std::string>> match_alone(const pattern& p, std::string_view path) {
    std::vector<std::string> values;
    for (const pattern_piece& piece : p.pieces) {
        if (piece.what == kind::literal) {
            if (!path.starts_with(piece.text)) return std::nullopt;
            path.remove_prefix(piece.text.size());
        } else if (piece.what == kind::rest) {
            const bool fits =
                piece.regex ? piece.regex->matches(path) : rest_fits(piece.policy, path);
            if (!fits) return std::nullopt;
            values.emplace_back(path);
            add_group(piece.regex.get(), path, values);
            return values;
        } else {
            const std::string_view segment = path.substr(0, std::min(path.find('/'), path.size()));
            if (segment.size() <= piece.text.size() || !segment.ends_with(piece.text)) {
                return std::nullopt;
            }
            const auto value = segment.substr(0, segment.size() - piece.text.size());
            if (!piece.parts.empty()) {
                if (!match_parts(piece, 0, value, values)) return std::nullopt;
                path.remove_prefix(segment.size());
                continue;
            }
            if (piece.regex && !piece.regex->matches(value)) return std::nullopt;
            values.emplace_back(value);
            add_group(piece.regex.get(), value, values);
            path.remove_prefix(segment.size());
        }
    }
    return path.empty() ? std::optional(values) : std::nullopt;
}

/// Returns the place of an expression: the pieces in front of it.
std::string place_of(const pattern& p, std::size_t piece) {
    std::string place;
    for (std::size_t i = 0; i != piece; ++i) {
        const pattern_piece& at = p.pieces[i];
        if (at.what == kind::literal) {
            place += at.text;
        } else {
            place += '{';
            if (at.regex) place += at.regex->text();
            place += '}' + at.text;
        }
    }
    return place;
}

/// In which order the expressions of each place came.
class arrivals {
public:
    void add(const pattern& p) {
        for (std::size_t i = 0; i != p.pieces.size(); ++i) {
            if (p.pieces[i].regex && age(p, i) == list_.size()) list_.push_back(key(p, i));
        }
    }
    /// Forgets those that no pattern has any more.
    void keep(const std::vector<route>& routes) {
        arrivals left;
        for (const route& r : routes) left.add(r.p);
        std::erase_if(list_, [&left](const std::string& k) {
            return std::find(left.list_.begin(), left.list_.end(), k) == left.list_.end();
        });
    }
    std::size_t age(const pattern& p, std::size_t i) const {
        const auto at = std::find(list_.begin(), list_.end(), key(p, i));
        return static_cast<std::size_t>(at - list_.begin());
    }

private:
    static std::string key(const pattern& p, std::size_t i) {
        const bool is_rest = p.pieces[i].what == kind::rest;
        return place_of(p, i) + (is_rest ? "\n*" : "\n") + std::string(p.pieces[i].regex->text()) +
               '\n' + p.pieces[i].text;
    }
    std::vector<std::string> list_;
};

/// Literals, expressions, parameters, rests with an expression, other rests.
int rank(const pattern_piece& p) {
    if (p.what == kind::rest) return p.regex ? 3 : 4 + static_cast<int>(p.policy);
    if (p.what == kind::parameter) return p.regex ? 1 : 2;
    return 0;
}

/// Compares which of two branches of one place is tried first; 0 when they are the same.
int compare(const pattern& a, std::size_t i, const pattern& b, std::size_t j,
            const arrivals& known) {
    const int ranks = rank(a.pieces[i]) - rank(b.pieces[j]);
    if (ranks != 0) return ranks;
    if (a.pieces[i].regex) {
        return static_cast<int>(known.age(a, i)) - static_cast<int>(known.age(b, j));
    }
    return static_cast<int>(b.pieces[j].text.size()) - static_cast<int>(a.pieces[i].text.size());
}

/// Returns true if `a` is tried before `b`; both match the same path.
bool is_before(const pattern& a, const pattern& b, const arrivals& known) {
    std::size_t i = 0;
    std::size_t j = 0;
    std::string_view left_a;
    std::string_view left_b;
    for (;;) {
        // The longer of two literals goes on where the other has a branch, or ends.
        const bool end_a = left_a.empty() && i == a.pieces.size();
        const bool end_b = left_b.empty() && j == b.pieces.size();
        if (end_a || end_b) return end_a && !end_b;
        const bool literal_a = !left_a.empty() || a.pieces[i].what == kind::literal;
        const bool literal_b = !left_b.empty() || b.pieces[j].what == kind::literal;
        if (literal_a != literal_b) return literal_a;
        if (!literal_a) {
            const int order = compare(a, i++, b, j++, known);
            if (order != 0) return order < 0;
            continue;
        }
        if (left_a.empty()) left_a = a.pieces[i++].text;
        if (left_b.empty()) left_b = b.pieces[j++].text;
        const std::size_t shared = std::min(left_a.size(), left_b.size());
        left_a.remove_prefix(shared);
        left_b.remove_prefix(shared);
    }
}

std::optional<outcome> find_alone(const std::vector<route>& routes, const arrivals& known,
                                  std::string_view path) {
    const route* best = nullptr;
    for (const route& r : routes) {
        if (!match_alone(r.p, path)) continue;
        if (best == nullptr || is_before(r.p, best->p, known)) best = &r;
    }
    if (best == nullptr) return std::nullopt;
    return outcome{best->number, *match_alone(best->p, path)};
}

std::optional<outcome> find_in(const route_tree& tree, std::string_view path, std::size_t bound) {
    const exact_bytes exact(path);
    const std::string_view text = exact.view();
    route_match found;
    const bool hit = tree.match(text, found);
    require(found.visited <= bound);
    if (!hit) return std::nullopt;
    outcome a{found.found->entries.front().record->sequence, {}};
    for (std::size_t i = 0; i != found.count; ++i) {
        const auto& v = found.values[i];
        require(v.data >= text.data() && v.data + v.size <= text.data() + text.size());
        a.values.emplace_back(v.data, v.size);
    }
    return a;
}

/// Letters of patterns and of paths: few, so that they meet.
constexpr std::string_view pattern_parts[] = {
    "/",
    "/",
    "/",
    "a",
    "b",
    "ab",
    "a",
    "longliteralofmorethanonenode",
    ".x",
    "%2F",
    "{p}",
    "{q}",
    "{p:a+}",
    "{q:[ab]*}",
    "{q:.}",
    "{s:(?P<g>a)b*}",
    "-",
    "{t}",
    "{*r:(a|b|/)*}",
    "{*r:(?P<h>a).*}",
    "{*r}",
    "{*r:segment}",
    "{*r:safe}",
};
constexpr std::string_view path_parts[] = {
    "-",  "-",   "/",  "/",  "/",  "a",    "b",   "ab", "a", "longliteralofmorethanonenode",
    ".x", "%2F", "aa", "..", "\\", "abab", "/..", "x",  "",  "longliteralofmore",
};

template <std::size_t N>
std::string take_text(std::string_view& in, const std::string_view (&parts)[N]) {
    std::string text = "/";
    while (!in.empty() && text.size() < 300) {
        const auto byte = static_cast<unsigned char>(in.front());
        in.remove_prefix(1);
        if (byte >= 0xF0) break;
        text += parts[byte % N];
    }
    return text;
}

/// The tree, and the list that it is held against.
class table {
public:
    void add(const std::string& text) {
        if (routes_.size() == 64) return;
        route r{{}, ++numbers_};
        try {
            r.p = parse_pattern(text);
        } catch (const coracle::exception&) {
            return;
        }
        if (tree_.find(r.p) != nullptr) return;
        auto record = std::make_shared<route_record>();
        record->sequence = r.number;
        tree_.at(r.p).add("GET", std::move(record));
        require(tree_.find(r.p) != nullptr);
        known_.add(r.p);
        // Each byte makes a node, and each expression is one more to try.
        bound_ += 2 * (text.size() + 1);
        routes_.push_back(std::move(r));
    }
    void remove(std::size_t which) {
        if (routes_.empty()) return;
        const auto at = routes_.begin() + static_cast<std::ptrdiff_t>(which % routes_.size());
        tree_.erase(at->p);
        require(tree_.find(at->p) == nullptr);
        routes_.erase(at);
        known_.keep(routes_);
    }
    std::optional<outcome> check(std::string_view path) const {
        auto expected = find_alone(routes_, known_, path);
        require(find_in(tree_, path, bound_) == expected);
        return expected;
    }
    const route_tree& tree() const { return tree_; }
    std::size_t bound() const { return bound_; }

private:
    route_tree tree_;
    std::vector<route> routes_;
    arrivals known_;
    std::size_t numbers_ = 0;
    std::size_t bound_ = 1;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view in(reinterpret_cast<const char*>(data), std::min<std::size_t>(size, 2048));
    table all;
    while (!in.empty()) {
        const auto what = static_cast<unsigned char>(in.front());
        in.remove_prefix(1);
        if (what < 0xA0) {
            all.add(take_text(in, pattern_parts));
            continue;
        }
        const std::string path = take_text(in, path_parts);
        const auto before = all.check(path);
        if (what < 0xD0) continue;
        // A change is seen by the tree that was changed, and not by its copy.
        const route_tree copy = all.tree();
        const std::size_t bound = all.bound();
        if (what < 0xE8)
            all.remove(what);
        else
            all.add(take_text(in, pattern_parts));
        require(find_in(copy, path, bound) == before);
        all.check(path);
    }
    return 0;
}
