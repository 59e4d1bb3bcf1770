#include "unit/http/router/asking.hpp"

#include <coracle/runtime/event.hpp>

#include <gtest/gtest.h>

using namespace coracle;
using namespace coracle::testing;
using http::handler;
using http::request;
using http::response;
using http::router;

namespace {

/// The status of a response that is there at once.
int get_now(const handler& h, std::string_view path) {
    request req;
    request::parts p;
    p.method_text = "GET";
    p.path = path;
    req.assign(p);
    response res;
    task<response> pending;
    EXPECT_TRUE(h.call(req, res, pending));
    return static_cast<int>(res.status());
}

}  // namespace

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
        response res;
        task<response> pending;
        EXPECT_FALSE(h.call(req, res, pending));
        r.remove("/a/{name}");
        EXPECT_EQ(get_now(h, "/a/b"), 404);
        EXPECT_FALSE(watch.expired());
        go.set();
        res = co_await std::move(pending);
        EXPECT_EQ(res.body().bytes(), "b1");
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
        response res;
        task<response> pending;
        EXPECT_TRUE(h.call(req, res, pending));
    }
    req.clear();
}
