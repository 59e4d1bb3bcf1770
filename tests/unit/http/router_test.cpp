#include "support/virtual_time.hpp"

#include <coracle/http/extract.hpp>
#include <coracle/http/router.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

using namespace coracle;
using coracle::testing::run_virtually;
using http::handler;
using http::request;
using http::response;
using http::router;

namespace {

struct outcome {
    int status;
    std::string body;
    std::string allow;
};

outcome ask(const handler& h, std::string_view method, std::string_view path) {
    request req;
    request::parts p;
    p.method = http::parse_method(method);
    p.method_text = method;
    p.path = path;
    p.target = path;
    req.assign(p);
    return run_virtually([&]() -> task<outcome> {
        response r = co_await h(req);
        outcome o{static_cast<int>(r.status()), std::string(r.body().bytes()),
                  std::string(r.fields().get("Allow"))};
        co_return o;
    });
}

std::string get(const handler& h, std::string_view path) {
    const outcome o = ask(h, "GET", path);
    return o.status == 200 ? o.body : std::to_string(o.status);
}

/// Answers with a word and the parameters "a" and "b".
auto say(std::string word) {
    return [word](request& req) {
        std::string text = word;
        for (const char* name : {"a", "b"}) {
            if (!req.param(name).empty()) text += " " + std::string(req.param(name));
        }
        return text;
    };
}

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

TEST(router, answers_another_method_with_405_and_allow) {
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

TEST(router, answers_options_of_the_whole_server) {
    router r;
    r.get("/a", say("get"));
    r.put("/b", say("put"));
    const auto o = ask(r, "OPTIONS", "*");
    EXPECT_EQ(o.status, 204);
    for (const char* method : {"GET", "PUT", "OPTIONS"}) {
        EXPECT_NE(o.allow.find(method), std::string::npos) << method;
    }
}

TEST(router, lets_a_get_route_answer_head_unless_it_has_its_own) {
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
         {"", "a", "{a}", "/{}", "/{*}", "/{a", "/a}", "/x{a}", "/{a}x", "/{a}{b}", "/{*a}/b",
          "/{a}/{a}", "/{a}/{*a}", "/*", "/{a*}", "/{a:int}"}) {
        expect_refused(r, pattern);
    }
    EXPECT_EQ(r.describe(), "");
}

TEST(router, refuses_a_route_that_exists_and_names_both) {
    router r;
    r.get("/x/{a}", say("x"));
    try {
        r.get("/x/{b}", say("y"));
        FAIL() << "it must throw";
    } catch (const exception& e) {
        EXPECT_NE(std::string_view(e.what()).find("/x/{a}"), std::string_view::npos) << e.what();
        EXPECT_NE(std::string_view(e.what()).find("/x/{b}"), std::string_view::npos) << e.what();
    }
    r.post("/x/{b}", say("z"));
}

TEST(router, describes_its_routes_in_order) {
    router r;
    r.post("/b", say("x"));
    r.get("/a/{a}", say("x"));
    r.any("/c", say("x"));
    EXPECT_EQ(r.describe(), "POST /b\nGET /a/{a}\n* /c\n");
}

TEST(router, puts_middleware_around_routes_and_its_own_answers_the_first_outermost) {
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

TEST(router, may_be_mounted_in_another) {
    router inner;
    inner.get("/api/{a}", say("inner"));
    router outer;
    outer.any("/api/{*rest}", inner);
    EXPECT_EQ(get(outer, "/api/7"), "inner 7");
    EXPECT_EQ(get(outer, "/api/7/8"), "404");
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

TEST(router, refuses_a_handler_that_asks_for_a_parameter_which_the_pattern_does_not_have) {
    router r;
    try {
        r.get("/boats/{boat}", [](http::path<"id", int> id) { return std::to_string(id); });
        FAIL() << "it was accepted";
    } catch (const exception& e) {
        EXPECT_EQ(e.error(), std::errc::invalid_argument);
        EXPECT_EQ(e.error().subject(),
                  "/boats/{boat}: its handler asks for {id}, which the pattern does not have");
    }
    r.get("/boats/{id}", [](http::path<"id", int> id) { return std::to_string(id); });
    r.get("/files/{*rest}", [](http::path<"rest"> rest) { return std::string(*rest); });
}
