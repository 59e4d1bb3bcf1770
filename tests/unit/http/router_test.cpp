#include "support/virtual_time.hpp"

#include <coracle/http/extract.hpp>
#include <coracle/http/router.hpp>
#include <coracle/runtime/event.hpp>

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

outcome ask(const handler& h, std::string_view method, std::string_view path,
            std::string_view host = {}) {
    request req;
    request::parts p;
    p.method = http::parse_method(method);
    p.method_text = method;
    p.path = path;
    p.target = path;
    p.host = host;
    req.assign(p);
    return run_virtually([&]() -> task<outcome> {
        response r = co_await h(req);
        outcome o{static_cast<int>(r.status()), std::string(r.body().bytes()),
                  std::string(r.fields().get("Allow"))};
        co_return o;
    });
}

std::string why_refused(auto f) {
    try {
        f();
    } catch (const exception& e) {
        return e.what();
    }
    return "it was not refused";
}

std::string get(const handler& h, std::string_view path) {
    const outcome o = ask(h, "GET", path);
    return o.status == 200 ? o.body : std::to_string(o.status);
}

/// The status of an answer that is there at once.
int get_now(const handler& h, std::string_view path) {
    request req;
    request::parts p;
    p.method_text = "GET";
    p.path = path;
    req.assign(p);
    response answer;
    task<response> pending;
    EXPECT_TRUE(h.call(req, answer, pending));
    return static_cast<int>(answer.status());
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
         {"", "a", "{a}", "/{}", "/{*}", "/{a", "/a}", "/{a}{b}", "/{*a}/b", "/{a}/{a}",
          "/{a}/{*a}", "/*", "/{a*}", "/x{*a}", "/{*a:some}", "/{a:}", "/{a:[}", "/{:x}"}) {
        expect_refused(r, pattern);
    }
    EXPECT_EQ(r.describe(), "");
}

TEST(router, refuses_a_route_that_exists_and_names_both) {
    router r;
    r.get("/x/{a}", say("x"));
    r.get("/y/{a:[0-9]+}.txt", say("x"));
    r.any("/z/{*a:safe}", say("x"));
    EXPECT_EQ(why_refused([&] { r.get("/x/{b}", say("y")); }),
              "route GET /x/{b} matches the same requests as GET /x/{a}: File exists");
    EXPECT_EQ(why_refused([&] { r.route("POST, GET", "/y/{b:[0-9]+}.txt", say("y")); }),
              "route GET /y/{b:[0-9]+}.txt matches the same requests as GET /y/{a:[0-9]+}.txt: "
              "File exists");
    EXPECT_EQ(why_refused([&] { r.any("/z/{*b:safe}", say("y")); }),
              "route * /z/{*b:safe} matches the same requests as * /z/{*a:safe}: File exists");
    r.post("/x/{b}", say("z"));
    r.get("/y/{b:[0-9]*}.txt", say("z"));
    r.get("/z/{*b}", say("z"));
    EXPECT_EQ(ask(r, "POST", "/y/1.txt").status, 405) << "what was refused added nothing";
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

TEST(router, has_the_parameters_of_an_outer_route_that_its_own_do_not_hide) {
    router inner;
    inner.get("/api/{kind}/{id:[0-9]+}", [](request& req) {
        return std::string(req.param("id")) + ' ' + std::string(req.param("kind")) + ' ' +
               std::string(req.param("rest"));
    });
    router outer;
    outer.any("/api/{id}/{*rest}", inner);
    EXPECT_EQ(get(outer, "/api/boats/7"), "7 boats 7");
}

TEST(router, fails_where_a_parameter_beside_those_of_an_outer_route_has_no_room) {
    for (const int most : {14, 15}) {
        std::string pattern;
        std::string path;
        for (int i = 0; i != most; ++i) {
            pattern += "/{p" + std::to_string(i) + '}';
            path += "/v" + std::to_string(i);
        }
        router inner;
        inner.get("/in" + pattern + "/x", [last = "p" + std::to_string(most - 1)](request& req) {
            return std::string(req.param("a")) + std::string(req.param(last));
        });
        router outer;
        outer.any("/{a}/{*b}", inner);
        const handler h = outer;
        if (most == 14)
            EXPECT_EQ(get(h, "/in" + path + "/x"), "inv13");
        else
            EXPECT_THROW(get(h, "/in" + path + "/x"), exception);
    }
}

TEST(router, may_be_asked_twice_by_a_middleware) {
    std::string pattern;
    std::string path;
    for (int i = 0; i != 16; ++i) {
        pattern += "/{p" + std::to_string(i) + '}';
        path += "/v" + std::to_string(i);
    }
    router r;
    r.use([](request& req, const handler& next) -> task<response> {
        const response first = co_await next(req);
        EXPECT_EQ(first.body().bytes(), "v15");
        response second = co_await next(req);
        co_return second;
    });
    r.get(pattern, [](request& req) { return std::string(req.param("p15")); });
    EXPECT_EQ(get(r, path), "v15");
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
    const auto asks = [](http::path<"id", int> id) { return std::to_string(id); };
    router r;
    r.get("/boats/{boat}", asks);
    try {
        const handler h = r;
        FAIL() << "it was accepted";
    } catch (const exception& e) {
        EXPECT_EQ(e.error(), std::errc::invalid_argument);
        EXPECT_EQ(e.error().subject(),
                  "\"/boats/{boat}\": its handler asks for {id}, which the pattern does not have");
    }
    EXPECT_TRUE(r.remove("/boats/{boat}"));
    r.get("/boats/{id}", asks);
    r.get("/files/{*rest}", [](http::path<"rest"> rest) { return std::string(*rest); });
    const handler h = r;
    const std::string reason = "its handler asks for {id}";
    for (const std::string& said :
         {why_refused([&] { r.get("/ships/{ship}", asks); }),
          why_refused([&] { r.replace("GET", "/ships/{ship}", asks); }), why_refused([&] {
              r.group("/ships/{ship}", [&](router& ship) {
                  ship.use([](handler inner) {
                      return handler([inner](request& req) { return inner(req); });
                  });
                  ship.get("/", asks);
              });
          })}) {
        EXPECT_NE(said.find(reason), std::string::npos) << said;
    }
    EXPECT_EQ(get(h, "/boats/7"), "7");
    EXPECT_EQ(get(h, "/ships/7"), "404");
}

TEST(router, lets_handlers_ask_for_the_parameters_of_the_prefix_that_they_are_mounted_at) {
    const auto both = [](http::path<"id", int> id, http::path<"post"> post) {
        return std::to_string(id) + ' ' + std::string(*post);
    };
    const auto fill = [&](router& user) {
        user.use([](request& req, const handler& next) -> task<response> { return next(req); });
        user.get("/", [](http::path<"id", int> id) { return std::to_string(id); });
        user.group("/posts", [&](router& posts) { posts.get("/{post}", both); });
    };
    router r;
    r.group("/users/{id}", fill);
    const handler h = r;
    router inner;
    fill(inner);
    r.mount("/later/{id}", std::move(inner));
    EXPECT_EQ(get(h, "/users/7"), "7");
    EXPECT_EQ(get(h, "/users/7/posts/a"), "7 a");
    EXPECT_EQ(get(h, "/later/8/posts/b"), "8 b");
    router without;
    fill(without);
    const std::string said = why_refused([&] { r.mount("/no", std::move(without)); });
    EXPECT_NE(said.find("\"/no\": its handler asks for {id}"), std::string::npos) << said;
    EXPECT_EQ(get(h, "/no/posts/b"), "404");
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
        {"/{a}-{b}", "one parameter at the most"},
        {"/{a:[^/]+}-{b:[^/]+}", "one parameter at the most"},
        {"/{a:[^/]+}{b}", "one parameter at the most"},
        {"/{a:x/y}{*b}", "one parameter at the most"},
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

TEST(router, groups_routes_with_a_prefix_and_middleware_of_their_own) {
    const auto mark = [](std::string text) {
        return [text](request& req, const handler& next) -> task<response> {
            response inner = co_await next(req);
            response outer = text + '(' + std::string(inner.body().bytes()) + ')';
            outer.set_status(inner.status());
            co_return outer;
        };
    };
    router r;
    r.use(mark("all"));
    r.get("/out", say("out"));
    r.group("/api", [&](router& api) {
        api.get("/", say("root"));
        api.use(mark("api"));
        api.get("/in/{a}", say("in"));
        api.group("/{a}/deep", [&](router& deep) {
            deep.use(mark("deep"));
            deep.get("/{b}", say("deeper"));
        });
    });
    const handler h = r;
    EXPECT_EQ(get(h, "/out"), "all(out)");
    EXPECT_EQ(get(h, "/api"), "all(api(root))");
    EXPECT_EQ(get(h, "/api/"), "all(api(root))");
    EXPECT_EQ(get(h, "/api/in/7"), "all(api(in 7))");
    EXPECT_EQ(get(h, "/api/1/deep/2"), "all(api(deep(deeper 1 2)))");
    EXPECT_EQ(ask(h, "GET", "/api/none").body, "all(404 Not Found\n)");
}

TEST(router, speaks_for_a_mounted_router_only_beneath_its_prefix) {
    const auto speak = [](http::status code, std::string text) {
        return [code, text](request&) { return response(code, text); };
    };
    router inner;
    inner.get("/a", say("inner"));
    inner.not_found(speak(http::status::not_found, "inner 404"));
    inner.method_not_allowed(speak(http::status::method_not_allowed, "inner 405"));
    router outer;
    outer.get("/a", say("outer"));
    outer.not_found(speak(http::status::not_found, "outer 404"));
    outer.mount("/in", std::move(inner));
    const handler h = outer;
    EXPECT_EQ(get(h, "/in/a"), "inner");
    EXPECT_EQ(ask(h, "GET", "/in/b").body, "inner 404");
    EXPECT_EQ(ask(h, "GET", "/in").body, "inner 404");
    EXPECT_EQ(ask(h, "GET", "/inn").body, "outer 404");
    EXPECT_EQ(ask(h, "GET", "/b").body, "outer 404");
    auto o = ask(h, "PUT", "/in/a");
    EXPECT_EQ(o.body, "inner 405");
    EXPECT_EQ(o.allow, "GET, HEAD, OPTIONS");
    EXPECT_EQ(ask(h, "PUT", "/a").body, "405 Method Not Allowed\n");
}

TEST(router, mounts_nothing_when_one_route_conflicts) {
    router outer;
    outer.get("/in/b", say("outer"));
    router inner;
    inner.get("/a", say("a"));
    inner.get("/b", say("b"));
    const std::string before = outer.describe();
    const std::string said = why_refused([&] { outer.mount("/in", std::move(inner)); });
    EXPECT_NE(said.find("/in/b"), std::string::npos) << said;
    EXPECT_EQ(outer.describe(), before);
    for (const char* prefix : {"in", "/in/", "/{*a}", "/{"}) {
        router other;
        EXPECT_THROW(outer.mount(prefix, std::move(other)), exception) << prefix;
    }
}

TEST(router, gives_to_the_fallback_what_no_route_takes) {
    router r;
    r.get("/a", say("a"));
    r.not_found(say("never"));
    r.fallback([](request& req) { return "fallback " + std::string(req.method_text()); });
    const handler h = r;
    EXPECT_EQ(get(h, "/a"), "a");
    EXPECT_EQ(get(h, "/b"), "fallback GET");
    EXPECT_EQ(ask(h, "PUT", "/a").body, "fallback PUT");
    EXPECT_EQ(ask(h, "OPTIONS", "/a").allow, "GET, HEAD, OPTIONS");
}

TEST(router, adds_allow_to_a_405_of_its_own_handler) {
    router r;
    r.get("/a", say("a"));
    r.method_not_allowed([](request&) -> task<response> {
        co_await yield();
        co_return response(http::status::method_not_allowed, "no");
    });
    const auto o = ask(r, "PUT", "/a");
    EXPECT_EQ(o.body, "no");
    EXPECT_EQ(o.allow, "GET, HEAD, OPTIONS");
}

TEST(router, makes_error_pages_for_answers_without_a_body) {
    router r;
    r.error_page(http::status::not_found,
                 [](request& req) { return http::html("<p>no " + std::string(req.path())); });
    r.error_page(http::status::method_not_allowed, [](request&) -> task<response> {
        co_await yield();
        co_return response("another method");
    });
    r.get("/empty", [](request&) { return http::status::not_found; });
    r.get("/late", [](request&) -> task<response> {
        co_await yield();
        co_return http::status::not_found;
    });
    r.get("/thrown",
          [](request&) -> response { throw http::status_error(http::status::not_found); });
    r.get("/thrown/late", [](request&) -> task<response> {
        co_await yield();
        throw http::status_error(http::status::not_found);
    });
    r.get("/body", [](request&) { return response(http::status::not_found, "mine"); });
    r.get("/gone", [](request&) { return http::status::gone; });
    const handler h = r;
    for (const char* path : {"/none", "/empty", "/late", "/thrown", "/thrown/late"}) {
        const auto o = ask(h, "GET", path);
        EXPECT_EQ(o.status, 404) << path;
        EXPECT_EQ(o.body, "<p>no " + std::string(path)) << path;
    }
    EXPECT_EQ(ask(h, "GET", "/body").body, "mine");
    EXPECT_EQ(ask(h, "GET", "/gone").body, "");
    const auto o = ask(h, "PUT", "/body");
    EXPECT_EQ(o.status, 405);
    EXPECT_EQ(o.body, "another method");
    EXPECT_EQ(o.allow, "GET, HEAD, OPTIONS");
}

TEST(router, has_the_error_pages_of_a_mounted_router_beneath_its_prefix) {
    const auto page = [](std::string text) { return [text](request&) { return text; }; };
    router inner;
    inner.error_page(http::status::not_found, page("inner"));
    inner.get("/gone", [](request&) { return http::status::gone; });
    router outer;
    outer.error_page(http::status::not_found, page("outer"));
    outer.error_page(http::status::gone, page("gone"));
    outer.mount("/in", std::move(inner));
    const handler h = outer;
    EXPECT_EQ(ask(h, "GET", "/x").body, "outer");
    EXPECT_EQ(ask(h, "GET", "/in/x").body, "inner");
    EXPECT_EQ(ask(h, "GET", "/in/gone").body, "gone");
}

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
    r.get("/a/{p:[a-z/]+}", say("x")).name("letters");
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

TEST(router, forgets_routes_that_are_removed) {
    router r;
    r.route("GET, POST", "/a/{a}", say("a"));
    r.any("/a/{b}", say("any"));
    r.get("/a/{*a}", say("rest"));
    r.get("/ab", say("ab"));
    const handler h = r;
    EXPECT_FALSE(r.remove("PUT", "/a/{a}"));
    EXPECT_FALSE(r.remove("GET", "/a"));
    EXPECT_FALSE(r.remove("/a/{a}/b"));
    EXPECT_TRUE(r.remove("GET", "/a/{other_name}"));
    EXPECT_EQ(get(h, "/a/1"), "any 1");
    EXPECT_EQ(ask(h, "POST", "/a/1").body, "a 1");
    EXPECT_TRUE(r.remove("/a/{a}"));
    EXPECT_EQ(get(h, "/a/1"), "rest 1");
    EXPECT_TRUE(r.remove("GET", "/a/{*a}"));
    EXPECT_EQ(get(h, "/a/1"), "404");
    EXPECT_EQ(get(h, "/ab"), "ab");
    EXPECT_TRUE(r.remove("/ab"));
    EXPECT_EQ(r.describe(), "");
    r.get("/b", say("b"));
    EXPECT_EQ(get(h, "/b"), "b");
}

TEST(router, replaces_routes_and_changes_several_at_once) {
    router r;
    r.get("/a", say("old"));
    const handler h = r;
    r.replace("GET", "/a", say("new"));
    r.replace("GET", "/b", say("b"));
    EXPECT_EQ(get(h, "/a"), "new");
    EXPECT_EQ(get(h, "/b"), "b");
    r.update([&](router& all) {
        all.remove("/a");
        all.get("/c", say("c"));
        EXPECT_EQ(get(h, "/a"), "new") << "nothing is seen before all of it";
        EXPECT_EQ(get(h, "/c"), "404");
    });
    EXPECT_EQ(get(h, "/a"), "404");
    EXPECT_EQ(get(h, "/c"), "c");
    EXPECT_THROW(r.update([&](router& all) {
        all.get("/d", say("d"));
        all.use([](handler inner) { return inner; });
        all.get("/c", say("twice"));
    }),
                 exception);
    EXPECT_EQ(get(h, "/d"), "404");
    EXPECT_EQ(r.describe(), "METHOD  PATTERN\nGET     /b\nGET     /c\n");
}

TEST(router, gives_a_replacement_the_turn_and_the_methods_of_what_it_replaces) {
    router r;
    r.get("/{a:[0-9]+}", say("number")).name("it");
    r.route("GET, POST", "/{a:[a-z0-9]+}", handler(say("word")));
    r.replace("GET, PUT", "/{b:[0-9]+}", say("new"));
    EXPECT_EQ(get(r, "/7"), "new 7");
    EXPECT_EQ(ask(r, "PUT", "/7").body, "new 7");
    EXPECT_EQ(get(r, "/a"), "word a");
    EXPECT_THROW(r.url("it"), exception);
    r.replace("POST", "/{a:[a-z0-9]+}", say("post"));
    EXPECT_EQ(get(r, "/a"), "word a") << "the other method stays";
    EXPECT_EQ(ask(r, "POST", "/a").body, "post a");
    EXPECT_EQ(ask(r, "OPTIONS", "*").allow, "GET, POST, PUT, HEAD, OPTIONS");
    router outer;
    outer.mount("/in", std::move(r));
    EXPECT_EQ(get(outer, "/in/7"), "new 7") << "also where it is mounted";
}

TEST(router, goes_on_with_its_changes_in_handlers_that_were_made_before) {
    router r;
    const handler h = r;
    EXPECT_EQ(get(h, "/a"), "404");
    r.get("/a", say("a"));
    EXPECT_EQ(get(h, "/a"), "a");
    r.not_found(say("nothing"));
    EXPECT_EQ(get(h, "/b"), "nothing");
    r.use([](request& req, const handler& next) -> task<response> {
        response inner = co_await next(req);
        co_return "<" + std::string(inner.body().bytes()) + ">";
    });
    EXPECT_EQ(get(h, "/a"), "<a>");
}

TEST(router, keeps_a_route_until_the_last_request_that_found_it) {
    router r;
    auto token = std::make_shared<int>(0);
    const std::weak_ptr<int> watch = token;
    event go;
    r.get("/a/{name}", [token = std::move(token), &go](request& req) -> task<response> {
        co_await go.wait();
        co_return std::string(req.param("name")) + std::to_string(token.use_count());
    });
    const handler h = r;
    run_virtually([&]() -> task<> {
        request req;
        request::parts p;
        p.method_text = "GET";
        p.path = "/a/b";
        req.assign(p);
        response answer;
        task<response> pending;
        EXPECT_FALSE(h.call(req, answer, pending));
        r.remove("/a/{name}");
        EXPECT_EQ(get_now(h, "/a/b"), 404);
        EXPECT_FALSE(watch.expired());
        go.set();
        answer = co_await std::move(pending);
        EXPECT_EQ(answer.body().bytes(), "b1");
        req.clear();
        EXPECT_TRUE(watch.expired());
    });
}

TEST(router, is_outlived_by_requests) {
    request req;
    request::parts p;
    p.method_text = "GET";
    p.path = "/a";
    req.assign(p);
    {
        router r;
        r.get("/a", say("a"));
        const handler h = r;
        response answer;
        task<response> pending;
        EXPECT_TRUE(h.call(req, answer, pending));
    }
    req.clear();
}

TEST(router, chooses_by_the_host) {
    router api;
    api.get("/a", say("api"));
    router any;
    any.get("/a", say("any"));
    router r;
    r.get("/a", say("default"));
    r.host("API.example.com", api);
    r.host("*.example.com", any);
    r.host("*.deep.example.com", [](request&) { return "deep"; });
    r.host("[::1]", [](request&) { return "six"; });
    const handler h = r;
    const std::pair<std::string_view, std::string_view> rows[] = {
        {"api.example.com", "api"},
        {"Api.Example.Com:8080", "api"},
        {"api.example.com.", "api"},
        {"www.example.com", "any"},
        {"a.b.example.com", "any"},
        {"x.deep.example.com", "deep"},
        {"deep.example.com", "any"},
        {"example.com", "default"},
        {"", "default"},
        {"notexample.com", "default"},
        {"[::1]:80", "six"},
        {"[::2]:80", "default"},
        {".example.com", "default"},
    };
    for (const auto& [host, expected] : rows) {
        EXPECT_EQ(ask(h, "GET", "/a", host).body, expected) << host;
    }
    EXPECT_EQ(ask(h, "GET", "/a", std::string(253, 'x')).body, "default");
    EXPECT_EQ(ask(h, "GET", "/a", std::string(254, 'x')).body, "default");
    for (const char* name : {"", "*", "*.", "a/b", "a:80", "*a.com", "a.*.com", "api.example.com",
                             "API.EXAMPLE.COM"}) {
        EXPECT_THROW(r.host(name, api), exception) << name;
    }
    api.get("/later", say("later"));
    EXPECT_EQ(ask(h, "GET", "/later", "api.example.com").body, "later");
    EXPECT_EQ(r.describe(),
              "METHOD  PATTERN      HOST\n"
              "GET     /a\n"
              "*       (a handler)  *.deep.example.com\n"
              "GET     /a           *.example.com\n"
              "*       (a handler)  [::1]\n"
              "GET     /a           api.example.com\n"
              "GET     /later       api.example.com\n");
    router outer;
    EXPECT_THROW(outer.mount("/x", std::move(r)), exception);
}
