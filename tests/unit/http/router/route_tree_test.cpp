#include "http/router/route_tree.hpp"

#include "http/router/router_state.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace coracle;
using namespace coracle::http::detail;

namespace {

void add(route_tree& t, std::string_view text) {
    auto record = std::make_shared<route_record>();
    record->pattern = parse_pattern(text);
    record->names = names_of(record->pattern);
    t.at(record->pattern).add("GET", record);
}

/// The pattern that is found, or "-".
std::string find(const route_tree& t, std::string_view path) {
    route_match found;
    if (!t.match(path, found)) return "-";
    return found.found->entries.front().record->pattern.text;
}

std::size_t visited(const route_tree& t, std::string_view path) {
    route_match found;
    t.match(path, found);
    return found.visited;
}

std::size_t size(const route_tree& t) {
    std::size_t count = 0;
    t.each([&count](const route_set&) { ++count; });
    return count;
}

}  // namespace

TEST(route_tree, grows_and_shrinks_through_all_sizes_of_its_nodes) {
    // 255 children of one node, one after the other: sizes 4, 16, 48 and 256, and back.
    std::vector<std::string> patterns;
    for (int byte = 1; byte != 256; ++byte) {
        if (std::string_view("{}*?#%/.").find(static_cast<char>(byte)) != std::string_view::npos) {
            continue;
        }
        patterns.push_back(std::string("/x") + static_cast<char>(byte) + "end");
    }
    route_tree t;
    for (std::size_t i = 0; i != patterns.size(); ++i) {
        add(t, patterns[i]);
        for (std::size_t j = 0; j <= i; ++j) ASSERT_EQ(find(t, patterns[j]), patterns[j]);
        for (std::size_t j = i + 1; j != patterns.size(); ++j) ASSERT_EQ(find(t, patterns[j]), "-");
    }
    EXPECT_EQ(size(t), patterns.size());
    for (std::size_t i = 0; i != patterns.size(); ++i) {
        t.erase(parse_pattern(patterns[i]));
        for (std::size_t j = 0; j != patterns.size(); ++j) {
            ASSERT_EQ(find(t, patterns[j]), j <= i ? "-" : patterns[j]);
        }
    }
    EXPECT_EQ(size(t), 0u);
    EXPECT_EQ(visited(t, "/x"), 1u) << "nothing is left but the root";
}

TEST(route_tree, splits_and_joins_literals_longer_than_a_node) {
    const std::string base = "/" + std::string(tree_node::longest_prefix * 3, 'a');
    route_tree t;
    add(t, base);
    for (std::size_t cut = 1; cut != base.size(); ++cut) {
        const std::string other = base.substr(0, cut) + "b";
        const std::string shorter = base.substr(0, cut);
        add(t, other);
        add(t, shorter);
        EXPECT_EQ(find(t, base), base);
        EXPECT_EQ(find(t, other), other);
        EXPECT_EQ(find(t, shorter), shorter);
        EXPECT_EQ(find(t, other + "b"), "-");
        t.erase(parse_pattern(other));
        t.erase(parse_pattern(shorter));
        EXPECT_EQ(find(t, other), "-");
        EXPECT_EQ(find(t, shorter), "-");
        EXPECT_EQ(find(t, base), base);
    }
}

TEST(route_tree, finds_the_same_in_paths_that_are_copied_and_in_longer_ones) {
    route_tree t;
    add(t, "/a/{x}/end");
    add(t, "/a/{x}.txt");
    add(t, "/a/{x:[ab]+}/end");
    add(t, "/b/{*x}");
    for (const std::size_t length :
         {1U,   7U,   8U,   15U,  16U,  17U,  31U,  240U, 245U, 246U, 247U,
          248U, 249U, 250U, 251U, 252U, 253U, 254U, 255U, 256U, 5000U}) {
        const std::string value(length, 'x');
        EXPECT_EQ(find(t, "/a/" + value + "/end"), "/a/{x}/end") << length;
        EXPECT_EQ(find(t, "/a/" + value + ".txt"), "/a/{x}.txt") << length;
        EXPECT_EQ(find(t, "/a/" + std::string(length, 'b') + "/end"), "/a/{x:[ab]+}/end") << length;
        EXPECT_EQ(find(t, "/a/" + value + "/en"), "-") << length;
        EXPECT_EQ(find(t, "/a/" + value + "/endx"), "-") << length;
        EXPECT_EQ(find(t, "/a/" + value), "-") << length;
        EXPECT_EQ(find(t, "/b/" + value), "/b/{*x}") << length;
    }
}

TEST(route_tree, visits_each_node_once_at_the_most) {
    // Every way through literals and parameters exists, and leads nowhere.
    route_tree t;
    constexpr unsigned depth = 10;
    for (unsigned ways = 0; ways != 1U << depth; ++ways) {
        std::string pattern;
        for (unsigned i = 0; i != depth; ++i) {
            pattern += (ways >> i & 1U) != 0 ? "/a" : "/{p" + std::to_string(i) + "}";
        }
        add(t, pattern + "/end");
    }
    std::string path;
    for (unsigned i = 0; i != depth; ++i) path += "/a";
    EXPECT_LE(visited(t, path + "/no"), 8U << depth);
    EXPECT_NE(find(t, path + "/end"), "-");
    // A table as large costs nothing when the path turns off early.
    EXPECT_LE(visited(t, "/b/c"), 16u);
}

TEST(route_tree, does_not_try_more_for_longer_paths) {
    route_tree t;
    add(t, "/{a}/{b}/{c}/x");
    add(t, "/a/{b}/{c}/y");
    add(t, "/a/a/{c}/z");
    add(t, "/{a:a*}/{b:a*}/{c:a*}/w");
    const std::size_t bound = visited(t, "/a/a/a/v");
    std::string path;
    for (int i = 0; i != 2000; ++i) {
        path += "/a";
        ASSERT_LE(visited(t, path), bound);
    }
}

TEST(route_tree, matches_an_expression_in_linear_time) {
    route_tree t;
    add(t, "/{a:(a*)*b}");
    add(t, "/{a:(x+x+)+y}");
    EXPECT_EQ(find(t, "/" + std::string(8000, 'a')), "-");
    EXPECT_EQ(find(t, "/" + std::string(8000, 'x')), "-");
    EXPECT_EQ(find(t, "/" + std::string(8000, 'a') + "b"), "/{a:(a*)*b}");
}

TEST(route_tree, leaves_copies_as_they_were) {
    route_tree t;
    std::vector<route_tree> versions;
    std::vector<std::string> patterns;
    for (int i = 0; i != 200; ++i) {
        const std::string n = std::to_string(i * 7 % 200);
        patterns.push_back(i % 3 == 0 ? "/a/" + n : i % 3 == 1 ? "/{x}/" + n : "/b/{x}." + n);
        versions.push_back(t);
        add(t, patterns.back());
    }
    const auto path = [](std::string text) {
        const std::size_t at = text.find("{x}");
        return at == std::string::npos ? text : text.replace(at, 3, "value");
    };
    const route_tree full = t;
    for (const std::string& p : patterns) t.erase(parse_pattern(p));
    EXPECT_EQ(size(t), 0u);
    for (std::size_t i = 0; i != versions.size(); ++i) {
        ASSERT_EQ(size(versions[i]), i);
        for (std::size_t j = 0; j != patterns.size(); ++j) {
            ASSERT_EQ(find(versions[i], path(patterns[j])), j < i ? patterns[j] : "-");
        }
    }
    for (const std::string& p : patterns) EXPECT_EQ(find(full, path(p)), p);
}

TEST(route_tree, copies_what_it_shares_behind_a_parameter_too) {
    // The parser lets no such pattern through; the tree does not rely on that.
    const auto pattern_of = [](const char* name) {
        pattern p = parse_pattern("/{a}/{b}" + std::string(name));
        p.pieces.erase(p.pieces.begin() + 2);
        return p;
    };
    route_tree t;
    t.at(pattern_of("x")).add("GET", std::make_shared<route_record>());
    const route_tree before = t;
    t.at(pattern_of("y")).add("GET", std::make_shared<route_record>());
    EXPECT_EQ(size(before), 1u);
    EXPECT_EQ(size(t), 2u);
}
