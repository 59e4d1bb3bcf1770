// Middleware that adds fields, or refuses by what a request is.

#include "unit/http/middleware/asked.hpp"

#include <coracle/http/forwarded.hpp>
#include <coracle/http/middleware/address_filter.hpp>
#include <coracle/http/middleware/request_id.hpp>
#include <coracle/http/middleware/security_fields.hpp>

#include <set>

using namespace middleware_test;

TEST(security_fields, are_added_where_the_handler_set_none) {
    const http::handler own = [](http::request&) {
        http::response r("x");
        r.set("x-frame-options", "SAMEORIGIN");
        return r;
    };
    http::security_field_options o;
    o.permissions_policy = "";
    for (const http::handler& inner : {plain(), waiting()}) {
        asked a("GET");
        const http::handler h = http::security_fields(o)(inner);
        run_virtually([&] { return a.by(h); });
        EXPECT_EQ(a.header("X-Content-Type-Options"), "nosniff");
        EXPECT_EQ(a.header("X-Frame-Options"), "DENY");
        EXPECT_EQ(a.header("Referrer-Policy"), "strict-origin-when-cross-origin");
        EXPECT_EQ(a.header("Content-Security-Policy"),
                  "default-src 'self'; object-src 'none'; base-uri 'self'; frame-ancestors 'none'");
        EXPECT_EQ(a.header("Cross-Origin-Opener-Policy"), "same-origin");
        EXPECT_FALSE(a.res.fields().contains("Permissions-Policy"));
    }
    asked a("GET");
    const http::handler h = http::security_fields()(own);
    run_virtually([&] { return a.by(h); });
    EXPECT_EQ(a.all("x-frame-options") + a.all("X-Frame-Options"), "SAMEORIGIN");
    EXPECT_EQ(a.header("Permissions-Policy"), "camera=(), microphone=(), geolocation=()");
    http::security_field_options bad;
    bad.referrer_policy = "a\r\nb";
    EXPECT_EQ(refusal_of([&] { http::security_fields{bad}; }), "Referrer-Policy");
}

// A cache would put them in place of those that the page came with (RFC 9111 section 4.3.4).
TEST(security_fields, are_not_added_to_a_304) {
    const http::handler known = [](http::request&) {
        return http::response(http::status::not_modified);
    };
    asked a("GET");
    const http::handler h = http::security_fields()(known);
    run_virtually([&] { return a.by(h); });
    EXPECT_EQ(a.header("Content-Security-Policy"), "");
    EXPECT_EQ(a.header("X-Frame-Options"), "");
}

TEST(request_id, names_each_request) {
    std::set<std::string> seen;
    std::string inside;
    const http::handler inner = [&inside](http::request& req) {
        inside = http::request_id::of(req);
        return "reached";
    };
    const http::handler h = http::request_id()(inner);
    for (int i = 0; i != 10; ++i) {
        asked a("GET", {{"X-Request-Id", "given"}});
        EXPECT_EQ(http::request_id::of(a.req), "");
        run_virtually([&] { return a.by(h); });
        EXPECT_EQ(a.header("X-Request-Id"), inside);
        EXPECT_EQ(inside.size(), 32u);
        EXPECT_EQ(inside.find_first_not_of("0123456789abcdef"), inside.npos);
        seen.insert(inside.substr(0, 16));
        seen.insert(inside.substr(16));
    }
    EXPECT_GE(seen.size(), 2u);
}

TEST(request_id, takes_the_name_that_a_trusted_sender_gave) {
    http::request_id_options o;
    o.field = "X-Trace";
    o.trust = true;
    const http::handler h = http::request_id(o)(waiting());
    const auto name_for = [&h](std::string_view given) {
        asked a("GET", {{"X-Trace", given}});
        run_virtually([&] { return a.by(h); });
        EXPECT_EQ(http::request_id::of(a.req), a.header("X-Trace"));
        return a.header("X-Trace");
    };
    EXPECT_EQ(name_for("aZ09-_."), "aZ09-_.");
    EXPECT_EQ(name_for(std::string(128, 'a')), std::string(128, 'a'));
    for (const std::string& bad : {std::string(129, 'a'), std::string("a b"), std::string("<a>")}) {
        EXPECT_NE(name_for(bad), bad);
        EXPECT_EQ(name_for(bad).size(), 32u);
    }
    EXPECT_EQ(name_for("").size(), 32u);
    o.field = "a b";
    EXPECT_EQ(refusal_of([&] { http::request_id{o}; }), "field");
}

// The address is that of its proxy then, which has rights of its own.
TEST(address_filter, allows_no_client_that_a_proxy_hides) {
    const auto status_for = [](const http::address_filter& f, std::string_view who) {
        asked a("GET", {{"X-Forwarded-For", who}}, "10.0.0.5");
        const http::handler h = http::trust_proxies({"10.0.0.5"})(f(plain()));
        run_virtually([&] { return a.by(h); });
        return a.status();
    };
    const http::address_filter inside({.allow = {"10.0.0.0/8"}});
    EXPECT_EQ(status_for(inside, "10.0.0.7"), 200);
    EXPECT_EQ(status_for(inside, "unknown"), 403);
    const http::address_filter all_but({.deny = {"192.0.2.0/24"}});
    EXPECT_EQ(status_for(all_but, "unknown"), 200);
}

TEST(address_filter, serves_those_that_are_allowed_and_not_denied) {
    const auto status_for = [](const http::address_filter& f, std::string_view from) {
        asked a("GET", {}, from);
        const http::handler h = f(plain());
        run_virtually([&] { return a.by(h); });
        return a.status();
    };
    const http::address_filter some({.allow = {"10.0.0.0/8", "::1"}, .deny = {"10.1.0.0/16"}});
    EXPECT_EQ(status_for(some, "10.2.0.1"), 200);
    EXPECT_EQ(status_for(some, "::ffff:10.2.0.1"), 200);
    EXPECT_EQ(status_for(some, "::1"), 200);
    EXPECT_EQ(status_for(some, "10.1.0.1"), 403);
    EXPECT_EQ(status_for(some, "192.0.2.1"), 403);
    const http::address_filter all_but({.deny = {"192.0.2.0/24"}});
    EXPECT_EQ(status_for(all_but, "192.0.2.1"), 403);
    EXPECT_EQ(status_for(all_but, "192.0.3.1"), 200);
    EXPECT_NE(refusal_of([] { http::address_filter{{.allow = {"10.1.0.0/8"}}}; }), "none");
}
