#include "support/allocation_count.hpp"
#include "unit/http/router/asking.hpp"

#include <gtest/gtest.h>

using namespace coracle;
using namespace coracle::testing;
using http::handler;
using http::request;
using http::response;
using http::router;

namespace {

/// The values of these parameters.
auto show(std::initializer_list<const char*> names) {
    return [all = std::vector<std::string>(names.begin(), names.end())](request& req) {
        std::string text;
        for (const std::string& name : all) text += '<' + std::string(req.param(name)) + '>';
        return text;
    };
}

std::string refused(std::string_view pattern) {
    return why_refused([&] {
        router r;
        r.get(pattern, show({}));
    });
}

}  // namespace

TEST(a_segment, may_hold_several_parameters) {
    router r;
    r.get("/{a}-{b}", show({"a", "b"}));
    r.get("/files/v{major}.{minor:[0-9]+}.{patch}.tar", show({"major", "minor", "patch"}));
    r.get("/{a}-{b}/x/{c}.{d}", show({"a", "b", "c", "d"}));
    EXPECT_EQ(get(r, "/x-y"), "<x><y>");
    EXPECT_EQ(get(r, "/x-y-z"), "<x><y-z>") << "the first takes as little as it can";
    EXPECT_EQ(get(r, "/--y"), "<-><y>");
    EXPECT_EQ(get(r, "/xy"), "404");
    EXPECT_EQ(get(r, "/-y"), "404");
    EXPECT_EQ(get(r, "/x-"), "404");
    EXPECT_EQ(get(r, "/x/-y"), "404");
    EXPECT_EQ(get(r, "/files/v1.22.3-rc.1.tar"), "<1><22><3-rc.1>");
    EXPECT_EQ(get(r, "/files/v1.x.22.3.tar"), "<1.x><22><3>");
    EXPECT_EQ(get(r, "/files/v1.2.tar"), "404");
    EXPECT_EQ(get(r, "/1-2/x/3.4"), "<1><2><3><4>");
    EXPECT_EQ(get(r, "/\xff-\n"), "<\xff><\n>") << "any bytes";
}

TEST(a_segment, with_several_parameters_may_stand_side_by_side_where_an_expression_says_where) {
    router r;
    r.get("/{n:[0-9]+}{unit}", show({"n", "unit"}));
    EXPECT_EQ(get(r, "/12px"), "<12><px>");
    EXPECT_NE(refused("/{a}{b}").find("nothing says where {a} ends and {b} begins"),
              std::string::npos);
    EXPECT_NE(refused("/{a}-{a}").find("two parameters are called a"), std::string::npos);
}

TEST(a_segment, with_several_parameters_is_tried_as_an_expression) {
    router r;
    r.get("/{name}", show({"name"}));
    r.get("/{name}.json", show({"name"}));
    r.get("/{a}-{b}", show({"a", "b"}));
    r.get("/{c:[a-z]+-[0-9]+}", show({"c"}));
    r.get("/x-y", [](request&) { return "literal"; });
    EXPECT_EQ(get(r, "/x-y"), "literal");
    EXPECT_EQ(get(r, "/x-1"), "<x><1>") << "it was added before the expression";
    EXPECT_EQ(get(r, "/x-1.json"), "<x><1.json>");
    EXPECT_EQ(get(r, "/x.json"), "<x>");
    EXPECT_EQ(get(r, "/x"), "<x>");
    EXPECT_NE(why_refused([&] { r.get("/{x}-{y}", show({})); }).find("/{a}-{b}"), std::string::npos)
        << "the same but for the names";
    EXPECT_TRUE(r.remove("/{p}-{q}"));
    EXPECT_EQ(get(r, "/x-1"), "<x-1>");
}

TEST(an_expression, gives_its_named_groups_as_parameters) {
    router r;
    r.get("/{date:(?P<year>[0-9]{4})-(?P<month>[0-9]{2})(x)?(?P<rest>-.*)?}/{id}",
          show({"date", "year", "month", "rest", "id"}));
    r.get("/v/{kind:(?P<first>.).*}-{n}", show({"kind", "first", "n"}));
    EXPECT_EQ(get(r, "/2026-11/7"), "<2026-11><2026><11><><7>");
    EXPECT_EQ(get(r, "/2026-11x-late/7"), "<2026-11x-late><2026><11><-late><7>");
    EXPECT_EQ(get(r, "/2026-1/7"), "404");
    EXPECT_EQ(get(r, "/v/oak-3"), "<oak><o><3>");
    EXPECT_NE(refused("/{a:(?P<a>x)}").find("two parameters are called a"), std::string::npos);
    std::string many = "/{a:";
    for (int i = 0; i != 32; ++i) many += "(x)?";
    EXPECT_NE(refused(many + "(?P<g>y)}").find("more than 32 groups"), std::string::npos);
    EXPECT_EQ(refused(many + "y}"), "it was not refused");
}

TEST(an_expression, holds_no_slash_that_could_never_match) {
    for (const char* pattern :
         {"/{a:x/y}", "/{a:[a/]+}", "/{a:x\\/y}", "/{a:[^x]/}", "/{a}-{b:/}"}) {
        EXPECT_NE(refused(pattern).find("{*name:expression} takes several segments"),
                  std::string::npos)
            << pattern << ": " << refused(pattern);
    }
    for (const char* pattern : {"/{a:[^/]+}", "/{a:[^]/]x}", "/{*a:x/y}", "/{*a:[a/]+}"}) {
        EXPECT_EQ(refused(pattern), "it was not refused") << pattern;
    }
}

TEST(a_rest, may_have_to_match_an_expression) {
    router r;
    r.get("/{*path}", show({"path"}));
    r.get("/{*path:segment}", show({"path"}));
    r.get("/{*file:(?P<folder>.+)/(?P<name>[^/]+)\\.png}", show({"folder", "name"}));
    r.get("/{*digits:[0-9/]+}", [](request&) { return "digits"; });
    EXPECT_EQ(get(r, "/a/b/c.png"), "<a/b><c>");
    EXPECT_EQ(get(r, "/1/2"), "digits");
    EXPECT_EQ(get(r, "/1"), "digits");
    EXPECT_EQ(get(r, "/a/b"), "<a/b>");
    EXPECT_EQ(get(r, "/"), "<>");
    EXPECT_TRUE(r.remove("/{*x:[0-9/]+}"));
    EXPECT_EQ(get(r, "/1/2"), "<1/2>");
    EXPECT_NE(refused("/{*a:(}").find("is refused"), std::string::npos);
}

TEST(a_url, is_built_of_several_parameters_and_groups) {
    router r;
    r.get("/{a}-{b:[0-9]+}.txt", show({})).name("file");
    r.get("/on/{date:(?P<year>[0-9]+)-[0-9]+}", show({})).name("date");
    r.get("/in/{*path:[a-z/]+}", show({})).name("path");
    r.get("/p/{a}-{b}", show({})).name("pair");
    EXPECT_EQ(r.url("file", {{"a", "x y"}, {"b", "7"}}), "/x%20y-7.txt");
    EXPECT_EQ(r.url("date", {{"date", "2026-11"}, {"year", "2026"}}), "/on/2026-11");
    EXPECT_EQ(r.url("path", {{"path", "a/b"}}), "/in/a/b");
    const auto why = [&](std::string_view name, std::initializer_list<http::url_param> values) {
        return why_refused([&] { static_cast<void>(r.url(name, values)); });
    };
    EXPECT_EQ(r.url("file", {{"a", "x-1"}, {"b", "7"}}), "/x-1-7.txt");
    EXPECT_NE(why("pair", {{"a", "x-1"}, {"b", "7"}}).find("a cannot be \"x-1\""),
              std::string::npos)
        << "the route would take it apart in another way";
    EXPECT_NE(why("file", {{"a", "x"}, {"b", "y"}}).find("b cannot be"), std::string::npos);
    EXPECT_NE(why("file", {{"b", "7"}}).find("a is missing"), std::string::npos);
    EXPECT_NE(why("date", {{"date", "2026-11"}, {"year", "2025"}}).find("year cannot be"),
              std::string::npos);
    EXPECT_NE(why("path", {{"path", "a/1"}}).find("path cannot be"), std::string::npos);
    r.get("/dots/{a:[.]}{b}", show({})).name("dots");
    EXPECT_EQ(r.url("dots", {{"a", "."}, {"b", "x"}}), "/dots/.x");
    EXPECT_NE(why("dots", {{"a", "."}, {"b", "."}}).find("would be \"..\""), std::string::npos);
}

TEST(preflight, responds_to_options_for_all_paths) {
    router r;
    r.get("/a", show({}));
    r.options("/own", [](request&) { return "own"; });
    r.any("/any", [](request&) { return "any"; });
    r.fallback([](request&) { return "fallback"; });
    r.preflight([](request&) -> task<response> {
        co_return response(http::status::no_content).set("Access-Control-Allow-Origin", "*");
    });
    r.group("/in", [](router& g) {
        g.get("/a", show({}));
        g.preflight([](request&) { return "inner"; });
    });
    EXPECT_EQ(ask(r, "OPTIONS", "/a").status, 204);
    EXPECT_EQ(ask(r, "OPTIONS", "/a").allow, "GET, HEAD, OPTIONS");
    EXPECT_EQ(ask(r, "OPTIONS", "/none").status, 204);
    EXPECT_EQ(ask(r, "OPTIONS", "*").status, 204);
    EXPECT_EQ(ask(r, "OPTIONS", "/own").body, "own");
    EXPECT_EQ(ask(r, "OPTIONS", "/any").body, "any");
    EXPECT_EQ(ask(r, "OPTIONS", "/in/a").body, "inner");
    EXPECT_EQ(ask(r, "OPTIONS", "/in/a").allow, "GET, HEAD, OPTIONS");
    EXPECT_EQ(ask(r, "POST", "/none").body, "fallback");
}

TEST(expressions, for_which_there_is_no_memory_end_only_their_request) {
    if (!counts_allocations()) GTEST_SKIP() << "no allocation fails in this build";
    bool failed = true;
    std::size_t n = 1;
    for (; failed; ++n) {
        // Where one parameter ends is found with memory, some of which is kept.
        router r;
        r.get("/parts/{a}-{b}", show({"a", "b"}));
        const handler h(r);
        request req;
        request::parts p;
        p.method = http::method::get;
        p.method_text = "GET";
        p.path = p.target = "/parts/page-2";
        req.assign(p);
        response out;
        task<response> pending;
        fail_allocation(n);
        try {
            h.call(req, out, pending);
        } catch (const std::bad_alloc&) {
            EXPECT_FALSE(allocation_will_fail());
        }
        failed = !allocation_will_fail();
        fail_allocation(0);
        EXPECT_EQ(get(h, "/parts/page-2"), "<page><2>") << n;
    }
    EXPECT_GT(n, 1U);
}

TEST(preflight, passes_through_the_middleware_of_its_group) {
    const auto marks = [](const char* who) {
        return [who](http::request& req, const http::handler& next) -> task<response> {
            if (req.host() == "x") co_return response(std::string("for x by ") + who);
            auto r = co_await next(req);
            r.set("Mark", who);
            co_return r;
        };
    };
    router r;
    r.get("/a", show({}));
    r.group("/in", [&](router& g) {
        g.use(marks("outer"));
        g.post("/a", show({}));
        g.group("/deep", [&](router& d) {
            d.use(marks("inner"));
            d.get("/b", show({}));
        });
    });
    EXPECT_EQ(ask(r, "OPTIONS", "/in/a", "x").body, "for x by outer");
    EXPECT_EQ(ask(r, "OPTIONS", "/in/none", "x").body, "for x by outer");
    EXPECT_EQ(ask(r, "OPTIONS", "/in/deep/b", "x").body, "for x by outer");
    EXPECT_EQ(ask(r, "OPTIONS", "/a", "x").status, 204);
    EXPECT_EQ(ask(r, "OPTIONS", "/in/a").status, 204);
    EXPECT_EQ(ask(r, "OPTIONS", "/in/a").allow, "POST, OPTIONS");
    EXPECT_EQ(ask(r, "OPTIONS", "/in/none").status, 404);
    EXPECT_EQ(ask(r, "OPTIONS", "/in/none").allow, "");
    EXPECT_EQ(ask(r, "OPTIONS", "/in/deep/b").allow, "GET, HEAD, OPTIONS");
    EXPECT_EQ(ask(r, "GET", "/in/none").status, 404);
    // A second group at its prefix.
    r.group("/in", [&](router& g) {
        g.get("/more", show({}));
        g.not_found([](http::request&) { return response(http::status::not_found, "own"); });
    });
    EXPECT_EQ(ask(r, "GET", "/in/none").body, "own");
    EXPECT_EQ(ask(r, "OPTIONS", "/in/more", "x").status, 204);
    r.preflight([](http::request&) { return "everywhere"; });
    EXPECT_EQ(ask(r, "OPTIONS", "/in/a", "x").body, "everywhere");
}

TEST(preflight, passes_through_the_middleware_of_each_group_at_a_prefix) {
    // Responds to what is for it.
    const auto named = [](const char* who) {
        return [who](http::request& req, const http::handler& next) -> task<response> {
            if (req.host() == who) co_return response(std::string("by ") + who);
            co_return co_await next(req);
        };
    };
    router r;
    r.get("/plain", show({}));
    r.group("/", [&](router& g) {
        g.use(named("a"));
        g.post("/orders", show({}));
        g.group("", [&](router& d) {
            d.use(named("b"));
            d.get("/deep", show({}));
        });
    });
    r.group("/in", [&](router& g) {
        g.use(named("c"));
        g.get("/one", show({}));
    });
    r.group("/in", [&](router& g) {
        g.use(named("d"));
        g.post("/one", show({}));
        g.get("/two", show({}));
        g.post("/three", show({}));
    });
    r.group("/in", [&](router& g) {
        g.use(named("e"));
        g.get("/three", show({}));
    });
    const auto meets = [&r](const char* path, const char* who, std::string_view asked = {}) {
        const auto o = ask(r, "OPTIONS", path, who, asked);
        EXPECT_EQ(o.status, o.body.empty() ? 204 : 200);
        return o.body == std::string("by ") + who;
    };
    EXPECT_FALSE(meets("/plain", "a"));
    EXPECT_TRUE(meets("/orders", "a"));
    EXPECT_FALSE(meets("/orders", "b"));
    EXPECT_TRUE(meets("/deep", "a"));
    EXPECT_TRUE(meets("/deep", "b"));
    EXPECT_TRUE(meets("/in/one", "c"));
    EXPECT_TRUE(meets("/in/one", "c", "GET"));
    EXPECT_TRUE(meets("/in/one", "d", "POST"));
    EXPECT_FALSE(meets("/in/one", "c", "POST"));
    EXPECT_TRUE(meets("/in/one", "c", "PUT"));
    EXPECT_TRUE(meets("/in/two", "d"));
    EXPECT_TRUE(meets("/in/three", "d"));
    EXPECT_TRUE(meets("/in/three", "e", "HEAD"));
    EXPECT_FALSE(meets("/in/three", "d", "HEAD"));
    EXPECT_FALSE(meets("/in/two", "c"));
}

TEST(preflight, leaves_unknown_paths_of_a_group_to_its_own_handlers) {
    router r;
    r.group("/all", [](router& g) {
        g.use([](http::request& req, const handler& next) { return next(req); });
        g.fallback(
            [](http::request& req) { return "fallback for " + std::string(req.method_text()); });
    });
    r.group("/some", [](router& g) {
        g.use([](http::request& req, const handler& next) { return next(req); });
        g.not_found([](http::request&) { return response(http::status::not_found, "own"); });
        g.group("/deep", [](router& d) {
            d.use([](http::request& req, const handler& next) { return next(req); });
            d.get("/a", show({}));
        });
    });
    EXPECT_EQ(ask(r, "OPTIONS", "/all/none").body, "fallback for OPTIONS");
    EXPECT_EQ(ask(r, "OPTIONS", "/some/none").body, "own");
    EXPECT_EQ(ask(r, "OPTIONS", "/some/deep/none").body, "404 Not Found\n");
    EXPECT_EQ(ask(r, "GET", "/some/deep/none").body, "own");
}

TEST(a_router, refuses_connect_which_has_no_path) {
    const std::string why = why_refused([] {
        router r;
        r.route("GET, CONNECT", "/tunnel", show({}));
    });
    EXPECT_NE(why.find("a CONNECT request has no path"), std::string::npos) << why;
}
