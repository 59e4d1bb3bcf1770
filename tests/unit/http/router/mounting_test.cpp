#include "unit/http/router/asking.hpp"

#include <coracle/http/extract.hpp>

#include <gtest/gtest.h>

using namespace coracle;
using namespace coracle::testing;
using http::handler;
using http::request;
using http::response;
using http::router;

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
                  "\"/boats/{boat}\": its handler takes the parameter {id}, which the pattern does "
                  "not have");
    }
    EXPECT_TRUE(r.remove("/boats/{boat}"));
    r.get("/boats/{id}", asks);
    r.get("/files/{*rest}", [](http::path<"rest"> rest) { return std::string(*rest); });
    const handler h = r;
    const std::string reason = "its handler takes the parameter {id}";
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
    EXPECT_NE(said.find("\"/no\": its handler takes the parameter {id}"), std::string::npos)
        << said;
    EXPECT_EQ(get(h, "/no/posts/b"), "404");
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
