#include "unit/http/router/asking.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace coracle;
using namespace coracle::testing;
using http::handler;
using http::request;
using http::response;
using http::router;
using ::testing::HasSubstr;

namespace {

void expect_refused(router& r, std::string_view pattern) {
    EXPECT_THROW(r.get(pattern, say("x")), exception) << pattern;
}

}  // namespace

TEST(router, finds_the_route_of_a_path) {
    router r;
    r.get("/", say("root"));
    r.get("/users", say("users"));
    r.get("/users/{a}", say("user"));
    r.get("/users/{a}/posts/{b}", say("post"));
    r.get("/files/{*a}", say("file"));
    const handler h = r;
    const std::pair<std::string_view, std::string_view> rows[] = {
        {"/", "root"},
        {"/users", "users"},
        {"/users/7", "user 7"},
        {"/users/7/posts/8", "post 7 8"},
        {"/files/a/b/c.txt", "file a/b/c.txt"},
        {"/files/a/", "file a/"},
        {"/users/%2F", "user %2F"},
        {"/users/", "404"},
        {"/users/7/", "404"},
        {"/users/7/posts", "404"},
        {"/users/7/posts/8/9", "404"},
        {"/files", "404"},
        {"/Users", "404"},
        {"//", "404"},
        {"", "404"},
        {"*", "404"},
        {"users", "404"},
    };
    for (const auto& [path, expected] : rows) EXPECT_EQ(get(h, path), expected) << path;
}

TEST(router, prefers_the_most_specific_route_in_any_order_of_registration) {
    for (const bool forwards : {true, false}) {
        router r;
        const auto add = [&](int i) {
            if (i == 0) r.get("/a/b", say("literal"));
            if (i == 1) r.get("/a/{a}", say("one"));
            if (i == 2) r.get("/a/{*a}", say("rest"));
            if (i == 3) r.get("/{a}/b", say("first"));
        };
        for (int i = 0; i != 4; ++i) add(forwards ? i : 3 - i);
        const handler h = r;
        EXPECT_EQ(get(h, "/a/b"), "literal");
        EXPECT_EQ(get(h, "/a/c"), "one c");
        EXPECT_EQ(get(h, "/a/b/c"), "rest b/c");
        EXPECT_EQ(get(h, "/x/b"), "first x");
        EXPECT_EQ(get(h, "/x/c"), "404");
    }
}

TEST(router, goes_back_when_a_more_specific_way_leads_nowhere) {
    router r;
    r.get("/a/b/c", say("literal"));
    r.get("/a/{a}/d", say("one"));
    r.get("/{*a}", say("rest"));
    const handler h = r;
    EXPECT_EQ(get(h, "/a/b/c"), "literal");
    EXPECT_EQ(get(h, "/a/b/d"), "one b");
    EXPECT_EQ(get(h, "/a/b/e"), "rest a/b/e") << "and forgets the parameters of the wrong way";
    EXPECT_EQ(get(h, "/"), "rest");
}

TEST(router, tells_apart_parameters_of_different_names_at_one_place) {
    router r;
    r.get("/x/{a}", say("get"));
    r.post("/x/{b}", say("post"));
    const handler h = r;
    EXPECT_EQ(ask(h, "GET", "/x/1").body, "get 1");
    EXPECT_EQ(ask(h, "POST", "/x/2").body, "post 2");
}

TEST(router, responds_to_another_method_with_405_and_allow) {
    router r;
    r.get("/a", say("get"));
    r.post("/a", say("post"));
    r.put("/b", say("put"));
    const handler h = r;
    auto o = ask(h, "DELETE", "/a");
    EXPECT_EQ(o.status, 405);
    EXPECT_EQ(o.allow, "GET, POST, HEAD, OPTIONS");
    o = ask(h, "GET", "/b");
    EXPECT_EQ(o.status, 405);
    EXPECT_EQ(o.allow, "PUT, OPTIONS");
    o = ask(h, "OPTIONS", "/b");
    EXPECT_EQ(o.status, 204);
    EXPECT_EQ(o.allow, "PUT, OPTIONS");
    EXPECT_EQ(ask(h, "get", "/a").status, 405) << "methods have a case";
    EXPECT_EQ(ask(h, "OPTIONS", "/none").status, 404);
}

TEST(router, responds_to_options_of_the_whole_server) {
    router r;
    r.get("/a", say("get"));
    r.put("/b", say("put"));
    const auto o = ask(r, "OPTIONS", "*");
    EXPECT_EQ(o.status, 204);
    for (const char* method : {"GET", "PUT", "OPTIONS"}) {
        EXPECT_NE(o.allow.find(method), std::string::npos) << method;
    }
}

TEST(router, lets_a_get_route_respond_to_head_unless_it_has_its_own) {
    router r;
    r.get("/a", say("get"));
    r.get("/b", say("get"));
    r.head("/b", say("head"));
    r.post("/c", say("post"));
    const handler h = r;
    EXPECT_EQ(ask(h, "HEAD", "/a").body, "get");
    EXPECT_EQ(ask(h, "HEAD", "/b").body, "head");
    EXPECT_EQ(ask(h, "HEAD", "/c").status, 405);
}

TEST(router, takes_methods_of_any_name_and_any_method) {
    router r;
    r.route("PURGE", "/a", handler(say("purge")));
    r.any("/b", say("any"));
    r.get("/b", say("get"));
    r.options("/b", say("options"));
    const handler h = r;
    EXPECT_EQ(ask(h, "PURGE", "/a").body, "purge");
    EXPECT_EQ(ask(h, "PURGED", "/a").status, 405);
    EXPECT_EQ(ask(h, "GET", "/b").body, "get");
    EXPECT_EQ(ask(h, "HEAD", "/b").body, "get");
    EXPECT_EQ(ask(h, "BREW", "/b").body, "any");
    EXPECT_EQ(ask(h, "OPTIONS", "/b").body, "options");
}

TEST(router, refuses_patterns_that_are_malformed) {
    router r;
    for (const char* pattern :
         {"", "a", "{a}", "/{}", "/{*}", "/{a", "/a}", "/{a}{b}", "/{*a}/b", "/{a}/{a}",
          "/{a}/{*a}", "/*", "/{a*}", "/x{*a}", "/{*a:some}", "/{a:}", "/{a:[}", "/{:x}"}) {
        expect_refused(r, pattern);
    }
    EXPECT_EQ(r.describe(), "");
}

TEST(router, refuses_what_could_never_be_served) {
    router r;
    EXPECT_THAT(why_refused([&] { r.get("/x", http::handler()); }), HasSubstr("has no handler"));
    EXPECT_THAT(why_refused([&] { r.replace("GET", "/x", http::handler()); }),
                HasSubstr("has no handler"));
    EXPECT_THAT(why_refused([&] { r.host("a.example", http::handler()); }),
                HasSubstr("has no handler"));
    EXPECT_THAT(why_refused([&] { r.host("a.example", r); }), HasSubstr("a.example"));
    router above;
    above.host("a.example", r);
    EXPECT_THAT(why_refused([&] { r.host("a.example", above); }), HasSubstr("back to this"));
    EXPECT_THAT(why_refused([&] { r.route("get", "/x", say("x")); }),
                HasSubstr("methods have a case: GET, not get"));
    EXPECT_THAT(why_refused([&] { r.route("POST, Put", "/x", say("x")); }), HasSubstr("not Put"));
    EXPECT_THAT(why_refused([&] { r.route("GET, *", "/x", say("x")); }), HasSubstr("alone"));
    EXPECT_EQ(r.describe(), "");
    r.route("PURGE, Mine", "/x", say("x"));
}

TEST(router, takes_no_encoded_slash_where_the_rest_is_safe) {
    router r;
    r.get("/files/{*rest:safe}", say("x"));
    EXPECT_NE(get(r, "/files/a/b"), "404");
    EXPECT_EQ(get(r, "/files/a%2Fb"), "404");
    EXPECT_EQ(get(r, "/files/a%2fb"), "404");
}

TEST(router, refuses_a_route_that_exists_and_names_both) {
    router r;
    r.get("/x/{a}", say("x"));
    r.get("/y/{a:[0-9]+}.txt", say("x"));
    r.any("/z/{*a:safe}", say("x"));
    EXPECT_EQ(why_refused([&] { r.get("/x/{b}", say("y")); }),
              "route GET /x/{b} matches the same requests as GET /x/{a}: it exists already");
    EXPECT_EQ(why_refused([&] { r.route("POST, GET", "/y/{b:[0-9]+}.txt", say("y")); }),
              "route GET /y/{b:[0-9]+}.txt matches the same requests as GET /y/{a:[0-9]+}.txt: "
              "it exists already");
    EXPECT_EQ(
        why_refused([&] { r.any("/z/{*b:safe}", say("y")); }),
        "route * /z/{*b:safe} matches the same requests as * /z/{*a:safe}: it exists already");
    r.post("/x/{b}", say("z"));
    r.get("/y/{b:[0-9]*}.txt", say("z"));
    r.get("/z/{*b}", say("z"));
    EXPECT_EQ(ask(r, "POST", "/y/1.txt").status, 405) << "what was refused added nothing";
}

TEST(router, lists_its_routes_and_those_of_its_hosts) {
    router r;
    r.route("GET, POST", "/a/{a}", say("x")).name("a");
    r.any("/c", say("x"));
    router api;
    api.get("/v1", say("x"));
    r.host("api.example", api);
    r.host("old.example", say("x"));
    const std::vector<http::route_info> all = r.routes();
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(all[0].methods, (std::vector<std::string>{"GET", "POST"}));
    EXPECT_EQ(all[0].pattern, "/a/{a}");
    EXPECT_EQ(all[0].name, "a");
    EXPECT_EQ(all[0].host, "");
    EXPECT_EQ(all[1].methods, std::vector<std::string>{"*"});
    EXPECT_EQ(all[2].pattern, "/v1");
    EXPECT_EQ(all[2].host, "api.example");
    EXPECT_EQ(all[3].pattern, "");
    EXPECT_EQ(all[3].host, "old.example");
    EXPECT_TRUE(router().routes().empty());
}

TEST(router, describes_its_routes_in_order) {
    router r;
    EXPECT_EQ(r.describe(), "");
    r.post("/b", say("x"));
    r.get("/a/{a}", say("x")).name("a");
    r.any("/c", say("x"));
    r.route("GET, HEAD", "/d", say("x"));
    EXPECT_EQ(r.describe(),
              "METHOD     PATTERN  NAME\n"
              "POST       /b\n"
              "GET        /a/{a}   a\n"
              "*          /c\n"
              "GET, HEAD  /d\n");
}

TEST(router, puts_middleware_around_routes_and_its_own_responses_the_first_outermost) {
    router r;
    const auto mark = [](std::string left, std::string right) {
        return [left, right](request& req, const handler& next) -> task<response> {
            response inner = co_await next(req);
            const http::status code = inner.status();
            response outer = left + std::string(inner.body().bytes()) + right;
            outer.set_status(code);
            co_return outer;
        };
    };
    r.use(mark("(", ")"));
    r.use(mark("<", ">"));
    r.get("/a", say("a"));
    const handler h = r;
    EXPECT_EQ(ask(h, "GET", "/a").body, "(<a>)");
    EXPECT_EQ(ask(h, "GET", "/none").body, "(<404 Not Found\n>)");
}

TEST(router, gives_an_unknown_path_to_the_handler_for_it) {
    router r;
    r.not_found([](request& req) {
        return response(http::status::not_found, "nothing at " + std::string(req.path()));
    });
    r.get("/a", say("a"));
    const handler h = r;
    EXPECT_EQ(ask(h, "GET", "/b").body, "nothing at /b");
    EXPECT_EQ(ask(h, "POST", "/a").status, 405);
}

TEST(router, finds_its_way_among_a_thousand_routes) {
    router r;
    for (int i = 0; i != 1000; ++i)
        r.get("/r" + std::to_string(i) + "/{a}", say(std::to_string(i)));
    const handler h = r;
    for (int i = 0; i < 1000; i += 37) {
        EXPECT_EQ(get(h, "/r" + std::to_string(i) + "/x"), std::to_string(i) + " x");
    }
}

TEST(router, awaits_handlers_that_are_coroutines_and_own_their_captures) {
    router r;
    r.get("/a", [text = std::string(100, 'x')](request&) -> task<response> {
        co_await yield();
        co_return text;
    });
    EXPECT_EQ(get(r, "/a"), std::string(100, 'x'));
}

TEST(router, takes_several_methods_for_one_route) {
    router r;
    r.route("GET,POST , PURGE", "/a", say("a"));
    const handler h = r;
    for (const char* method : {"GET", "POST", "PURGE", "HEAD"}) {
        EXPECT_EQ(ask(h, method, "/a").status, 200) << method;
    }
    EXPECT_EQ(ask(h, "PUT", "/a").allow, "GET, POST, PURGE, HEAD, OPTIONS");
    for (const char* methods : {"GET,", ",GET", "GET POST", "GET, GET", " ", "G{T"}) {
        EXPECT_THROW(r.route(methods, "/b", say("b")), exception) << methods;
    }
}

TEST(router, matches_segments_with_text_around_the_parameter) {
    router r;
    r.get("/v{a}", say("version"));
    r.get("/v{a}/x{b}.json", say("deep"));
    r.get("/{a}.json", say("json"));
    r.get("/{a}.min.json", say("min"));
    r.get("/{a}", say("any"));
    r.get("/vault", say("vault"));
    const handler h = r;
    const std::pair<std::string_view, std::string_view> rows[] = {
        {"/v1", "version 1"},
        {"/v", "any v"},
        {"/vault", "vault"},
        {"/v1/xy.json", "deep 1 y"},
        {"/v1/x.json", "404"},
        {"/boat.json", "json boat"},
        {"/a.min.json", "min a"},
        {"/.json", "any .json"},
        {"/.min.json", "json .min"},
        {"/w.json", "json w"},
        {"/v1.json", "version 1.json"},
    };
    for (const auto& [path, expected] : rows) EXPECT_EQ(get(h, path), expected) << path;
}

TEST(router, matches_expressions_within_one_segment_and_wholly) {
    router r;
    r.get("/users/{a:[0-9]+}", say("number"));
    r.get("/users/{a:[a-z]+[0-9]{2,3}}", say("name"));
    r.get("/users/{a}", say("other"));
    r.get("/any/{a:.*}/end", say("any"));
    r.get("/{a:(?i)ship}-yard", say("ship"));
    const handler h = r;
    const std::pair<std::string_view, std::string_view> rows[] = {
        {"/users/12", "number 12"},    {"/users/12a", "other 12a"}, {"/users/ab12", "name ab12"},
        {"/users/ab1", "other ab1"},   {"/users/", "404"},          {"/any/x/end", "any x"},
        {"/any/x/y/end", "404"},       {"/any//end", "404"},        {"/SHIP-yard", "ship SHIP"},
        {"/users/12\n", "other 12\n"},
    };
    for (const auto& [path, expected] : rows) EXPECT_EQ(get(h, path), expected) << path;
}

TEST(router, tries_expressions_in_the_order_of_their_registration) {
    for (const bool forwards : {true, false}) {
        router r;
        const auto one = [&] { r.get("/{a:[a-m]+}", say("one")); };
        const auto two = [&] { r.get("/{a:[h-z]+}", say("two")); };
        if (forwards) one();
        two();
        if (!forwards) one();
        const handler h = r;
        EXPECT_EQ(get(h, "/jk"), forwards ? "one jk" : "two jk");
        EXPECT_EQ(get(h, "/ab"), "one ab");
        EXPECT_EQ(get(h, "/xy"), "two xy");
    }
}

TEST(router, takes_the_rest_of_a_path_as_its_policy_says) {
    router r;
    r.get("/any/{*a}", say("any"));
    r.get("/one/{*a:segment}", say("one"));
    r.get("/safe/{*a:safe}", say("safe"));
    r.get("/all/{*a:segment}", say("segment"));
    r.get("/all/{*a:safe}", say("safe"));
    r.get("/all/{*a:any}", say("any"));
    const handler h = r;
    using std::string_view_literals::operator""sv;
    const std::pair<std::string_view, std::string_view> rows[] = {
        {"/any/", "any"},
        {"/any/../x", "any ../x"},
        {"/one/", "one"},
        {"/one/a", "one a"},
        {"/one/a/b", "404"},
        {"/safe/", "safe"},
        {"/safe/a/..b/c..", "safe a/..b/c.."},
        {"/safe/a/...", "safe a/..."},
        {"/safe/..", "404"},
        {"/safe/../a", "404"},
        {"/safe/a/../b", "404"},
        {"/safe/a/..", "404"},
        {"/safe/a%2Fb", "404"},
        {"/safe/a%2b", "safe a%2b"},
        {"/safe/a\\b", "404"},
        {"/safe/a\0b"sv, "404"},
        {"/all/a", "segment a"},
        {"/all/a/b", "safe a/b"},
        {"/all/a/../b", "any a/../b"},
    };
    for (const auto& [path, expected] : rows) EXPECT_EQ(get(h, path), expected) << path;
}

TEST(router, tells_why_it_refuses_a_pattern) {
    router r;
    const std::pair<std::string, std::string> rows[] = {
        {"/a%20b", "paths are matched decoded"},
        {"/{a}{b:[^/]+}", "nothing says where {a} ends"},
        {"/{a}-{*b}", "the last segment"},
        {"/{a:x/y}{*b}", "several segments"},
        {"/{*a:saef}", "any, safe, segment or an expression"},
        {"/{*a}/b", "the last segment"},
        {"/a/../b", "segment"},
        {"/a/.", "segment"},
        {"/a?b=c", "query"},
        {"/{a:(}", "missing"},
        {"/" + std::string(1024, 'x'), "1024 bytes"},
        {"/{a:" + std::string(257, 'x') + "}", "256 bytes"},
        {"/{a:((((x{100}){100}){100}){100})}", "refused"},
    };
    for (const auto& [pattern, reason] : rows) {
        const std::string said = why_refused([&] { r.get(pattern, say("x")); });
        EXPECT_NE(said.find(reason), std::string::npos) << said;
        EXPECT_NE(said.find("Invalid argument"), std::string::npos) << said;
    }
    r.get("/" + std::string(1023, 'x'), say("longest"));
    r.get("/{a:" + std::string(256, 'x') + "}", say("longest expression"));
    EXPECT_EQ(get(r, "/" + std::string(1023, 'x')), "longest");
    EXPECT_EQ(get(r, "/" + std::string(256, 'x')), "longest expression " + std::string(256, 'x'));
    r.get("/a%2Fb/100%", say("encoded"));
    EXPECT_EQ(get(r, "/a%2Fb/100%"), "encoded");
    r.get("/s/{a:[^/]+}-x/{b:[^/]+}", say("slashes"));
    EXPECT_EQ(get(r, "/s/1-x/2"), "slashes 1 2");
}

TEST(router, bounds_the_parameters_of_a_pattern) {
    std::string pattern;
    std::string path;
    router r;
    for (int i = 0; i != 15; ++i) {
        pattern += "/{p" + std::to_string(i) + '}';
        path += "/v" + std::to_string(i);
    }
    const auto last = [](request& req) { return req.param("a"); };
    r.get(pattern + "/{a}", last);
    expect_refused(r, pattern + "/{a}/{b}");
    expect_refused(r, pattern + "/{a}/{*b}");
    EXPECT_EQ(get(r, path + "/z"), "z");
}
