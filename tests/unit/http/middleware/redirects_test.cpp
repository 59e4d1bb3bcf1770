// Redirects and rewriting.

#include "unit/http/middleware/asked.hpp"

#include <coracle/http/middleware/redirects.hpp>
#include <coracle/http/router.hpp>

#include <string>
#include <utility>

using namespace middleware_test;

namespace {

/// The Location that a request gets, with its status where that is another; "-" where it is served.
std::string location(const http::redirect_options& o, std::string_view path,
                     std::string_view query = {}, std::string_view host = "x") {
    const http::handler h = http::redirects(o)(plain());
    asked a("GET");
    http::request::parts p;
    const net::address peer = *net::parse_ip("192.0.2.1", 1);
    p.method_text = "GET";
    p.target = p.path = path;
    p.query = query;
    p.host = host;
    p.peer = &peer;
    a.req.assign(p);
    run_virtually([&] { return a.by(h); });
    if (a.status() == 200) return "-";
    EXPECT_EQ(a.status(), static_cast<int>(o.status));
    return a.header("Location");
}

std::string refusal(http::path_rule rule) {
    return refusal_of([&] { http::redirects{{.rules = {rule}}}; });
}

}  // namespace

TEST(redirects, change_no_value_and_add_none) {
    http::redirect_options o;
    o.rules = {{"/docs/{*rest}", "https://docs.example.com/{rest}"},
               {"/part/{x}", "/new/{x}#sec"},
               {"/find/{what}", "/search?q={what}"},
               {"/jump/{where}", "/page#{where}"}};
    EXPECT_EQ(location(o, "/docs/a%2Fb"), "https://docs.example.com/a%2Fb");
    // The path of a request for "/docs/a%252fb/50%25".
    EXPECT_EQ(location(o, "/docs/a%2fb/50%"), "https://docs.example.com/a%252fb/50%25");
    EXPECT_EQ(location(o, "/part/1", "a=b"), "/new/1?a=b#sec");
    EXPECT_EQ(location(o, "/part/1", "a=\xc3\xa4%41"), "/new/1?a=%C3%A4%41#sec");
    EXPECT_EQ(location(o, "/find/a&b=c"), "/search?q=a%26b%3Dc");
    EXPECT_EQ(location(o, "/find/a&b", "c=d"), "/search?q=a%26b&c=d");
    EXPECT_EQ(location(o, "/jump/a?b", "c=d"), "/page?c=d#a%3Fb");
    http::redirect_options slash;
    slash.slash = http::trailing_slash::add;
    EXPECT_EQ(location(slash, "/a%2Fb"), "/a%2Fb/");
}

TEST(redirects, follow_patterns) {
    http::redirect_options o;
    o.rules = {{"/old", "/new"},
               {"/blog/{year}/{slug}", "/archive/{slug}-{year}"},
               {"/docs/{*rest}", "https://docs.example.com/v2/{rest}"},
               {"/find/{what}", "/search?q={what}"},
               {"/cafe", "/caf\xc3\xa9"}};
    EXPECT_EQ(location(o, "/old"), "/new");
    EXPECT_EQ(location(o, "/cafe"), "/caf%C3%A9");
    EXPECT_EQ(location(o, "/old", "a=1"), "/new?a=1");
    EXPECT_EQ(location(o, "/old/"), "-");
    EXPECT_EQ(location(o, "/older"), "-");
    EXPECT_EQ(location(o, "/blog/2024/boats"), "/archive/boats-2024");
    EXPECT_EQ(location(o, "/blog/2024/"), "-");
    EXPECT_EQ(location(o, "/blog/2024/a/b"), "-");
    EXPECT_EQ(location(o, "/docs/a/b"), "https://docs.example.com/v2/a/b");
    EXPECT_EQ(location(o, "/docs/"), "https://docs.example.com/v2/");
    EXPECT_EQ(location(o, "/docs"), "-");
    EXPECT_EQ(location(o, "/find/x", "page=2"), "/search?q=x&page=2");
    // Values are encoded: none ends the line, or begins a query.
    EXPECT_EQ(location(o, "/blog/a\r\nb/c?d#e"), "/archive/c%3Fd%23e-a%0D%0Ab");
    o.status = http::status::found;
    EXPECT_EQ(location(o, "/old"), "/new");
}

TEST(redirects, adapt_the_slash_at_the_end) {
    http::redirect_options o;
    o.slash = http::trailing_slash::remove;
    EXPECT_EQ(location(o, "/a/"), "/a");
    EXPECT_EQ(location(o, "/a/b//", "q"), "/a/b?q");
    EXPECT_EQ(location(o, "/a"), "-");
    EXPECT_EQ(location(o, "/"), "-");
    EXPECT_EQ(location(o, "/a b/"), "/a%20b");
    o.slash = http::trailing_slash::add;
    EXPECT_EQ(location(o, "/a"), "/a/");
    EXPECT_EQ(location(o, "/a/"), "-");
    EXPECT_EQ(location(o, "/a/logo.png"), "-");
    EXPECT_EQ(location(o, "/v1.2/x"), "/v1.2/x/");
}

TEST(redirects, lead_to_the_one_host) {
    http::redirect_options o;
    o.host = "www.example.com";
    o.slash = http::trailing_slash::remove;
    EXPECT_EQ(location(o, "/a", "q=1", "example.com"), "http://www.example.com/a?q=1");
    EXPECT_EQ(location(o, "/a/", "", "example.com"), "http://www.example.com/a");
    EXPECT_EQ(location(o, "/a", "", "WWW.example.com"), "-");
    EXPECT_EQ(location(o, "/a/", "", "www.example.com"), "/a");
}

TEST(redirects, never_lead_to_a_host_that_the_path_names) {
    http::redirect_options o;
    o.slash = http::trailing_slash::remove;
    o.rules = {{"/{*rest}", "/{rest}/x"}, {"/out/{*rest}", "/{rest}"}};
    for (const std::string_view path :
         {"//evil.example/", "//evil.example", "/\\evil.example/", "///evil.example/", "*"}) {
        EXPECT_EQ(location(o, path), "-") << path;
    }
    // Nor where a rule moves an empty segment to the front.
    o.rules = {{"/out/{*rest}", "/{rest}"}};
    EXPECT_EQ(location(o, "/out//evil.example"), "-");
    EXPECT_EQ(location(o, "/out/in"), "/in");
}

TEST(redirects, refuse_rules_that_are_malformed) {
    for (const std::string bad :
         {"old", "/{*rest}/x", "/a{b}", "/{a}/{a}", "/{", "/}", "/{}", "/{a b}"}) {
        EXPECT_EQ(refusal({bad, "/new"}), bad);
    }
    for (const std::string bad :
         {"/{b}", "//evil.example/{a}", "https://{a}.example.com/", "https://example.com",
          "ftp://x/", "{a}", "", "/{*a}", "/x\r\ny"}) {
        EXPECT_EQ(refusal({"/x/{a}", bad}), bad);
    }
    EXPECT_EQ(refusal_of([] { http::redirects{{.status = http::status::ok}}; }), "status");
    EXPECT_EQ(refusal_of([] { http::redirects{{.host = "a/b"}}; }), "host");
    EXPECT_EQ(refusal_of([] { http::rewrite("/a", "https://b.example/"); }), "https://b.example/");
    EXPECT_EQ(refusal_of([] { http::rewrite("/a", "/b?c"); }), "/b?c");
}

namespace {

/// The status, and the text, of a GET for this path.
std::pair<int, std::string> got(const http::handler& h, std::string_view path) {
    asked a("GET");
    http::request::parts p;
    const net::address peer = *net::parse_ip("192.0.2.1", 1);
    p.method_text = "GET";
    p.target = p.path = path;
    p.peer = &peer;
    a.req.assign(p);
    run_virtually([&] { return a.by(h); });
    return {a.status(), a.text()};
}

}  // namespace

TEST(rewrite, leaves_errors_to_the_pages_of_the_router_around_it) {
    http::router routes;
    routes.use(http::rewrite("/v1/{*rest}", "/{rest}"));
    routes.error_page(http::status::not_found, [](http::request&) { return "no such page"; });
    const http::handler h = routes;
    for (const char* path : {"/none", "/v1/none"}) {
        EXPECT_EQ(got(h, path), std::pair(404, std::string("no such page"))) << path;
    }
}

TEST(rewrite, chooses_another_route) {
    http::router routes;
    routes.get("/items/{id}", [](http::request& req) {
        return std::string(req.param("id")) + ' ' + std::string(req.path()) + ' ' +
               std::string(req.target()) + ' ' + std::string(req.route());
    });
    const http::handler h =
        http::wrap(http::rewrite(std::vector<http::path_rule>{{"/v1/{*rest}", "/items/{rest}"},
                                                              {"/items/9", "/items/1"}}),
                   routes);
    const auto text = [&h](std::string_view path) {
        const auto [status, body] = got(h, path);
        return status == 200 ? body : std::to_string(status);
    };
    EXPECT_EQ(text("/v1/7"), "7 /items/7 /v1/7 /items/{id}");
    EXPECT_EQ(text("/items/8"), "8 /items/8 /items/8 /items/{id}");
    EXPECT_EQ(text("/v1/9"), "9 /items/9 /v1/9 /items/{id}");  // once
    EXPECT_EQ(text("/items/9"), "1 /items/1 /items/9 /items/{id}");
    EXPECT_EQ(text("/v2/7"), "404");
}
