#include "support/simulated_response.hpp"
#include "support/temporary_directory.hpp"
#include "unit/http/router/asking.hpp"

#include <coracle/http/files.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

using namespace coracle;
using namespace coracle::testing;
using http::handler;
using http::request;
using http::response;
using http::router;
using http::status;

TEST(error_pages, are_made_for_responses_without_a_body) {
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

TEST(error_pages, have_no_fields_of_the_content_that_they_replace) {
    router r;
    const auto page = [](request&) { return http::html("<p>no"); };
    r.error_page(http::status::not_found, page);
    r.error_page(http::status::range_not_satisfiable, page);
    const auto with_fields = [](http::status code) {
        return [code](request&) {
            return response(code)
                .set("Content-Type", "application/json")
                .set("Content-Encoding", "gzip")
                .set("Content-Range", "bytes */9")
                .set("ETag", "\"x\"")
                .set("X-Kept", "1");
        };
    };
    r.get("/none", with_fields(http::status::not_found));
    r.get("/range", with_fields(http::status::range_not_satisfiable));
    const handler h = r;
    for (const std::string path : {"/none", "/range"}) {
        const auto a =
            response_of(h, "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        EXPECT_EQ(a.body, "<p>no");
        EXPECT_EQ(a.header("Content-Type"), "text/html; charset=utf-8");
        EXPECT_EQ(a.header("Content-Encoding"), "-");
        EXPECT_EQ(a.header("ETag"), "-");
        EXPECT_EQ(a.header("X-Kept"), "1");
        EXPECT_EQ(a.header("Content-Range"), path == "/range" ? "bytes */9" : "-");
    }
}

TEST(error_pages, of_a_mounted_router_are_those_beneath_its_prefix) {
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

TEST(error_pages, take_the_place_of_the_name_of_a_status) {
    const temporary_directory files;
    files.write("here", "content");
    router r;
    for (const status code : {status::not_found, status::method_not_allowed, status::conflict,
                              status::internal_server_error}) {
        r.error_page(
            code, [code](request&) { return "page of " + std::to_string(static_cast<int>(code)); });
    }
    r.get("/files/{*path}", http::serve_files(files.path(), {.param = "path"}));
    r.any("/all/{*path}", http::serve_files(files.path(), {.param = "path"}));
    r.get("/bug", [](request&) -> response { throw std::runtime_error("secret"); });
    r.get("/bug/late", [](request&) -> task<response> {
        co_await yield();
        throw std::runtime_error("secret");
    });
    r.get("/said",
          [](request&) -> response { throw http::status_error(status::conflict, "mine"); });
    r.group("/in", [](router& g) {
        g.use([](request& req, const handler& next) { return next(req); });
        g.get("/bug", [](request&) -> response { throw std::runtime_error("secret"); });
    });
    const handler h = r;
    EXPECT_EQ(ask(h, "GET", "/files/here").body.substr(0, 7), "content");
    EXPECT_EQ(ask(h, "GET", "/files/none").body, "page of 404");
    EXPECT_EQ(ask(h, "POST", "/all/here").body, "page of 405");
    EXPECT_EQ(ask(h, "POST", "/all/here").allow, "GET, HEAD");
    for (const char* path : {"/bug", "/bug/late", "/in/bug"}) {
        EXPECT_EQ(ask(h, "GET", path).status, 500) << path;
        EXPECT_EQ(ask(h, "GET", path).body, "page of 500") << path;
    }
    EXPECT_EQ(ask(h, "GET", "/said").body, "mine");
    EXPECT_EQ(ask(h, "OPTIONS", "/in/none").body, "page of 404");
}
