// Responses of a client that a handler returns, or `forward_to` does.

#include "support/client_calls.hpp"
#include "support/codings.hpp"

#include <coracle/http/compress.hpp>
#include <coracle/http/forward.hpp>
#include <coracle/http/middleware/etag.hpp>
#include <coracle/http/ranges.hpp>
#include <coracle/http/router.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>

#include <gtest/gtest.h>

#include <string>

namespace coracle::testing {
namespace {

TEST(responses_of_clients, are_passed_on_as_what_they_are) {
    const std::string coded = encoded(http::content_coding::gzip, "decoded text");
    const local_server behind(
        [&](http::request&) { return http::response(coded).set("Content-Encoding", "gzip"); });
    http::client client;
    const local_server front([&](http::request&) -> task<http::response> {
        auto asking = client.get(behind.url());
        co_return co_await asking;
    });
    http::client_options raw;
    raw.accept_compression = false;
    const auto r = http::client(raw).get(front.url()).wait();
    EXPECT_EQ(r.body, "decoded text");
    EXPECT_EQ(r.header("Content-Encoding"), "");
}

TEST(responses_of_clients, are_passed_on_without_the_protocols_of_the_other_server) {
    const scripted_peer behind(script()
                                   .read_head()
                                   .send("HTTP/1.1 200 OK\r\nConnection: Upgrade\r\n"
                                         "Upgrade: h2c\r\nX-End: 2\r\n"
                                         "Content-Length: 2\r\n\r\nok")
                                   .again());
    http::client client;
    const std::string url = behind.url("");
    const local_server front([&](http::request&) -> task<http::response> {
        auto asking = client.get(url);
        co_return co_await asking;
    });
    for (const auto version : {http::version_choice::http_1_1, http::version_choice::http_2}) {
        http::client asking({.http_version = version});
        const auto r = asking.get(front.url()).wait();
        EXPECT_EQ(r.body, "ok");
        EXPECT_EQ(r.header("Upgrade"), "");
        EXPECT_EQ(r.header("Connection"), "");
        EXPECT_EQ(r.header("X-End"), "2");
    }
}

TEST(responses_of_clients, to_head_are_passed_on_with_the_length_that_they_came_with) {
    const local_server behind([](http::request& req) {
        if (req.path() == "/text") return http::response("twelve bytes");
        return http::stream([](http::body_writer& out) -> task<> { co_await out.write("x"); });
    });
    http::client client;
    http::router routes;
    routes.get("/with-get", [&](http::request&) -> task<http::response> {
        auto asking = client.head(behind.url("/text"));
        co_return co_await asking;
    });
    routes.any("/{*rest}", http::forward_to(client, behind.url()));
    const local_server front(std::move(routes));
    EXPECT_EQ(client.head(front.url("/text")).wait().header("Content-Length"), "12");
    EXPECT_EQ(client.head(front.url("/with-get")).wait().header("Content-Length"), "12");
    EXPECT_FALSE(client.head(front.url("/stream")).wait().fields.contains("Content-Length"));
    EXPECT_EQ(client.get(front.url("/text")).wait().body, "twelve bytes");
    const auto nothing = client.get(front.url("/with-get")).wait();
    EXPECT_EQ(nothing.header("Content-Length"), "0");
}

// The content is another server's, and a response to HEAD without one is no empty one.
TEST(responses_of_clients, to_head_are_not_taken_for_empty_ones) {
    const std::string text(5'000, 'x');
    const local_server behind([&](http::request& req) {
        http::response r(text);
        if (req.path() == "/missing") r.set_status(http::status::not_found);
        if (req.path() == "/empty") return http::response(http::status::not_found);
        return r;
    });
    http::client client;
    http::router routes;
    routes.use(http::compress());
    routes.use(http::ranges());
    routes.use(http::etag());
    routes.error_page(http::status::not_found, [](http::request&) { return "a page"; });
    routes.any("/{*rest}", http::forward_to(client, behind.url()));
    const local_server front(std::move(routes));
    http::client plain({.accept_compression = false});
    const auto head = plain.head(front.url("/")).wait();
    EXPECT_EQ(head.header("Content-Length"), "5000");
    EXPECT_EQ(head.header("ETag"), "");
    EXPECT_EQ(head.header("Accept-Ranges"), "");
    EXPECT_EQ(plain.head(front.url("/missing")).wait().header("Content-Length"), "5000");
    // This one is known to be empty.
    EXPECT_EQ(plain.get(front.url("/empty")).wait().body, "a page");
    EXPECT_EQ(plain.head(front.url("/empty")).wait().header("Content-Length"), "6");
    const auto coded = plain.head(front.url("/")).header("Accept-Encoding", "gzip").wait();
    EXPECT_EQ(coded.header("Content-Encoding"), "gzip");
    EXPECT_FALSE(coded.fields.contains("Content-Length"));
}

}  // namespace
}  // namespace coracle::testing
