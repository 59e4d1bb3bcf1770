#include "unit/http/router/asking.hpp"

#include <gtest/gtest.h>

using namespace coracle;
using namespace coracle::testing;
using http::handler;
using http::router;

TEST(router, builds_the_paths_of_named_routes) {
    router r;
    r.get("/users/{id}", say("x")).name("user");
    r.get("/a b/{id:[0-9]+}.json", say("x")).name("number");
    r.get("/files/{*path:safe}", say("x")).name("file");
    r.get("/x%2Fy", say("x")).name("literal");
    EXPECT_EQ(r.url("user", {{"id", "7"}}), "/users/7");
    EXPECT_EQ(r.url("user", {{"id", "a/b c%"}}), "/users/a%2Fb%20c%25");
    EXPECT_EQ(r.url("number", {{"id", "12"}}), "/a%20b/12.json");
    EXPECT_EQ(r.url("file", {{"path", "a b/c.txt"}}), "/files/a%20b/c.txt");
    EXPECT_EQ(r.url("file", {{"path", ""}}), "/files/");
    EXPECT_EQ(r.url("literal"), "/x%2Fy");
    const std::pair<std::string, std::string> rows[] = {
        {why_refused([&] { r.url("user"); }), "the parameter id is missing"},
        {why_refused([&] { r.url("none"); }), "no route is called \"none\""},
        {why_refused([&] { r.url("user", {{"id", ""}}); }), "id cannot be"},
        {why_refused([&] { r.url("user", {{"id", ".."}}); }), "id cannot be"},
        {why_refused([&] { r.url("user", {{"id", "1"}, {"x", "2"}}); }), "no parameter x"},
        {why_refused([&] { r.url("number", {{"id", "12a"}}); }), "id cannot be"},
        {why_refused([&] { r.url("file", {{"path", "a/../b"}}); }), "path cannot be"},
        {why_refused([&] { r.url("file", {{"path", "a\\b"}}); }), "path cannot be"},
    };
    for (const auto& [said, reason] : rows) {
        EXPECT_NE(said.find(reason), std::string::npos) << said;
    }
    const handler h = r;
    EXPECT_EQ(r.url("user", {{"id", "7"}}), "/users/7") << "also once it is served";
}

TEST(router, builds_no_path_that_its_route_would_not_match) {
    router r;
    r.get("/a/{p:[a-z]+}", say("x")).name("letters");
    r.get("/b/{p:[a-z%2F]+}", say("x")).name("encoded");
    r.get("/c/{*p:safe}", say("x")).name("safe");
    r.get("/d/{*p:segment}", say("x")).name("segment");
    r.get("/e/.{p}", say("x")).name("dot before");
    r.get("/e/{p}.", say("x")).name("dot behind");
    const std::pair<const char*, const char*> refused[] = {
        {"letters", "a/b"},  {"safe", "x%2Fy"},   {"segment", "x/y"},
        {"dot before", "."}, {"dot behind", "."},
    };
    for (const auto& [name, value] : refused) {
        const std::string said = why_refused([&] { r.url(name, {{"p", value}}); });
        EXPECT_NE(said.find("p cannot be"), std::string::npos) << name << ": " << said;
    }
    EXPECT_EQ(r.url("letters", {{"p", "ab"}}), "/a/ab");
    EXPECT_EQ(r.url("encoded", {{"p", "a/b"}}), "/b/a%2Fb");
    EXPECT_EQ(r.url("segment", {{"p", "x%2Fy"}}), "/d/x%252Fy");
    EXPECT_EQ(r.url("dot before", {{"p", "x"}}), "/e/.x");
}

TEST(router, builds_no_path_that_leads_to_another_host) {
    router r;
    r.get("/{*rest}", say("x")).name("all");
    r.get("/in/{*rest}", say("x")).name("in");
    const std::string said = why_refused([&] { r.url("all", {{"rest", "/evil.example"}}); });
    EXPECT_NE(said.find("rest cannot be"), std::string::npos) << said;
    EXPECT_EQ(r.url("all", {{"rest", "a//b"}}), "/a//b");
    EXPECT_EQ(r.url("in", {{"rest", "/a"}}), "/in//a");
}

TEST(router, refuses_a_name_that_another_route_has) {
    router r;
    r.get("/a", say("x")).name("it");
    const std::string said = why_refused([&] { r.get("/b", say("x")).name("it"); });
    EXPECT_NE(said.find("/a"), std::string::npos) << said;
    EXPECT_NE(said.find("/b"), std::string::npos) << said;
    EXPECT_TRUE(r.remove("/a"));
    EXPECT_THROW(r.url("it"), exception);
    r.get("/c", say("x")).name("it");
    EXPECT_EQ(r.url("it"), "/c");
}

TEST(router, gives_no_name_to_a_route_that_is_gone) {
    router r;
    auto removed = r.get("/a", say("x"));
    auto replaced = r.get("/b", say("x"));
    r.remove("/a");
    r.replace("GET", "/b", say("y"));
    router inner;
    auto mounted = inner.get("/c", say("x"));
    r.mount("/in", std::move(inner));
    for (auto* route : {&removed, &replaced, &mounted}) {
        const std::string said = why_refused([&] { route->name("it"); });
        EXPECT_NE(said.find("it is not there any more"), std::string::npos) << said;
        EXPECT_NE(said.find("Invalid argument"), std::string::npos) << said;
    }
    r.get("/a", say("x")).name("it");
    EXPECT_EQ(r.url("it"), "/a");
}

TEST(router, keeps_the_names_of_mounted_routes) {
    router inner;
    inner.get("/", say("x")).name("home");
    inner.get("/{id}", say("x")).name("item");
    router outer;
    outer.mount("/shop/{city}", std::move(inner));
    EXPECT_EQ(outer.url("item", {{"city", "Kiel"}, {"id", "3"}}), "/shop/Kiel/3");
    EXPECT_EQ(outer.url("home", {{"city", "Kiel"}}), "/shop/Kiel");
}
