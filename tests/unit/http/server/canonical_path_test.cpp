#include "http/server/canonical_path.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

using coracle::arena;
using coracle::http::detail::canonical_path;

namespace {

std::string canonical(std::string_view path) {
    arena memory;
    const auto made = canonical_path(path, memory);
    return made ? std::string(*made) : "refused";
}

}  // namespace

TEST(canonical_path, decodes_once_and_removes_dot_segments) {
    const std::pair<std::string_view, std::string_view> rows[] = {
        {"/", "/"},
        {"/a/b.c/d..e", "/a/b.c/d..e"},
        {"/%61", "/a"},
        {"/%2561", "/%61"},
        {"/a%2fb", "/a%2Fb"},
        {"/a%2Fb", "/a%2Fb"},
        {"/%252F", "/%2F"},
        {"/./a", "/a"},
        {"/a/.", "/a/"},
        {"/a/..", "/"},
        {"/a/../b", "/b"},
        {"/..", "refused"},
        {"/a/../..", "refused"},
        {"/%2e%2E/a", "refused"},
        {"/a/%2e%2e/b", "/b"},
        {"/%", "refused"},
        {"/%4", "refused"},
        {"/%zz", "refused"},
        {"/a%00", "refused"},
        {"/.well-known/x", "/.well-known/x"},
        {"/...", "/..."},
        {"*", "*"},
        {"%", "refused"},
        {"/a\\..", "/a\\.."},
    };
    for (const auto& [path, expected] : rows) EXPECT_EQ(canonical(path), expected) << path;
}

TEST(canonical_path, finds_what_is_to_be_done_wherever_it_stands) {
    for (std::size_t at = 1; at != 70; ++at) {
        const std::string before = "/" + std::string(at, 'x');
        const std::string after(70 - at, 'y');
        EXPECT_EQ(canonical(before + "%41" + after), before + "A" + after) << at;
        EXPECT_EQ(canonical(before + "/./" + after), before + "/" + after) << at;
        EXPECT_EQ(canonical(before + "/../" + after), "/" + after) << at;
        EXPECT_EQ(canonical(before + ".." + after), before + ".." + after) << at;
        EXPECT_EQ(canonical(before + "%"), "refused") << at;
    }
}

TEST(canonical_path, gives_the_path_itself_where_nothing_changes) {
    arena memory;
    const std::string path = "/a/b.c/d";
    EXPECT_EQ(canonical_path(path, memory)->data(), path.data());
}
