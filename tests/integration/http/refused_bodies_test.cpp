// The reasons that a client gets for a head or a body that the server cannot read.

#include "support/blocking_peer.hpp"
#include "support/codings.hpp"
#include "support/simulated_response.hpp"

#include <coracle/http/client.hpp>
#include <coracle/http/compress.hpp>
#include <coracle/http/extract.hpp>
#include <coracle/http/forward.hpp>
#include <coracle/http/middleware/body_limit.hpp>
#include <coracle/http/multipart.hpp>
#include <coracle/http/router.hpp>
#include <coracle/http/upstreams.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>

#include <gmock/gmock.h>

namespace coracle::testing {
namespace {

using ::testing::HasSubstr;

task<http::response> read_text(http::request& req) {
    std::string text = co_await req.body().text();
    co_return http::response(std::move(text));
}

task<http::response> read_parts(http::request& req) {
    http::multipart_reader parts(req);
    while (co_await parts.next()) {
    }
    co_return http::response("read");
}

http::router routes(bool as_problems = false) {
    http::router r;
    if (as_problems) r.problem_details();
    r.post("/text", read_text);
    r.post("/parts", read_parts);
    r.post("/form", [](http::form f) { return std::to_string(f.size()); });
    r.post("/decoded", http::decompress()(http::handler(read_text)));
    return r;
}

simulated_response post(const http::router& r, std::string_view path, std::string_view rest) {
    std::string request = "POST ";
    request.append(path).append(" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n").append(rest);
    return response_of(http::handler(r), request);
}

constexpr std::string_view bad_chunks =
    "Content-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";

std::string multipart(std::string_view body) {
    std::string request = "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: ";
    request.append(std::to_string(body.size())).append("\r\n\r\n").append(body);
    return request;
}

TEST(refused_bodies, of_malformed_chunks_are_told_why) {
    for (const char* path : {"/text", "/form"}) {
        const auto r = post(routes(), path, bad_chunks);
        EXPECT_EQ(r.status(), 400) << path;
        EXPECT_EQ(r.body, "a chunk size is not a hexadecimal number\n") << path;
    }
    const auto blank = post(routes(), "/text", "Transfer-Encoding: chunked\r\n\r\n5 \r\nhello");
    EXPECT_THAT(blank.body, HasSubstr("blanks before it"));
}

TEST(refused_bodies, of_malformed_parts_are_told_why) {
    const auto cut = post(routes(), "/parts", multipart("--b\r\n\r\nx"));
    EXPECT_EQ(cut.status(), 400);
    EXPECT_EQ(cut.body, mime::make_error_code(mime::multipart_error::truncated).message() + '\n');
    const auto disposition =
        post(routes(), "/parts", multipart("--b\r\nContent-Disposition: ;\r\n\r\nx\r\n--b--"));
    EXPECT_EQ(disposition.body, "a Content-Disposition is malformed\n");
}

TEST(refused_bodies, of_a_broken_coding_are_told_why) {
    const std::string good = encoded(http::content_coding::gzip, "text");
    const std::string bad = good.substr(0, good.size() - 1);
    const auto r = post(routes(), "/decoded",
                        "Content-Encoding: gzip\r\nContent-Length: " + std::to_string(bad.size()) +
                            "\r\n\r\n" + bad);
    EXPECT_EQ(r.status(), 400);
    EXPECT_EQ(r.body, make_error_code(http::coding_error::truncated).message() + '\n');
}

TEST(refused_bodies, are_problems_where_errors_are) {
    const auto r = post(routes(true), "/text", bad_chunks);
    EXPECT_EQ(r.header("Content-Type"), "application/problem+json");
    EXPECT_THAT(r.body, HasSubstr(R"("detail":"a chunk size is not a hexadecimal number")"));
}

TEST(refused_bodies, are_no_faults_of_an_upstream) {
    const local_server behind(
        [](http::request& req) -> task<http::response> { co_return co_await req.body().text(); });
    http::client client;
    http::upstream_options o;
    o.eject_after = 1;
    http::upstreams group(client, {behind.url()}, o);
    http::router r;
    r.post("/one", http::forward_to(client, behind.url()));
    r.post("/any", http::forward_to(group));
    r.post("/limited", http::body_limit(100)(http::forward_to(group)));
    const local_server front(std::move(r));
    const auto status_of = [&](std::string_view path, std::string_view rest) {
        blocking_peer peer(front.port());
        peer.send("POST " + std::string(path) + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" +
                  std::string(rest));
        static_cast<void>(peer.receive_until("the end of the connection"));
        const std::string all(peer.received());
        return all.substr(0, all.find("\r\n"));
    };
    for (const char* path : {"/one", "/any"}) {
        EXPECT_EQ(status_of(path, bad_chunks), "HTTP/1.1 400 Bad Request");
    }
    const std::string large =
        "Transfer-Encoding: chunked\r\n\r\nc8\r\n" + std::string(200, 'x') + "\r\n0\r\n\r\n";
    EXPECT_EQ(status_of("/limited", large), "HTTP/1.1 413 Content Too Large");
    EXPECT_EQ(group.states()[0].failures, 0U);
    EXPECT_FALSE(group.states()[0].is_ejected);
    EXPECT_EQ(status_of("/any", "Content-Length: 2\r\n\r\nok"), "HTTP/1.1 200 OK");
}

TEST(refused_bodies, beyond_the_limit_of_a_route_are_no_broken_codings) {
    http::router r;
    r.post("/text", http::body_limit(8)(http::handler(read_text)));
    const local_server server(std::move(r));
    http::client client;
    EXPECT_EQ(client.post(server.url("/text")).body(std::string(9, 'x')).wait().status,
              http::status::content_too_large);
    // It is counted in the turn of the loop that sent it: before any later response.
    EXPECT_EQ(client.post(server.url("/text")).body("short").wait().body, "short");
    const auto counters = server.counters();
    EXPECT_EQ(counters.body_too_large, 1U);
    EXPECT_EQ(counters.undecodable, 0U);
}

TEST(refused_heads, are_problems_where_errors_are) {
    constexpr std::string_view path = "GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    constexpr std::string_view field = "GET / HTTP/1.1\r\nHost: x\r\nBad Name: y\r\n\r\n";
    for (const bool as_problems : {true, false}) {
        const http::handler h(routes(as_problems));
        for (const auto& r :
             {response_of(h, std::string(path)), response_over_http_1(h, std::string(field))}) {
            EXPECT_EQ(r.status(), 400);
            const bool is_problem = r.header("Content-Type") == "application/problem+json";
            EXPECT_EQ(is_problem, as_problems) << r.head;
            EXPECT_EQ(r.body.starts_with('{'), as_problems) << r.body;
        }
        EXPECT_THAT(response_of(h, std::string(path)).body,
                    HasSubstr("the path is not a valid encoding"));
    }
}

TEST(refused_heads, of_head_get_no_content) {
    for (const char* target : {"/%zz", "https://x/"}) {
        const auto asked = [&](const std::string& method) {
            return response_over_http_1(http::handler(routes(false)),
                                        method + ' ' + target + " HTTP/1.1\r\nHost: x\r\n\r\n");
        };
        const auto get = asked("GET");
        EXPECT_NE(get.body, "");
        const auto head = asked("HEAD");
        EXPECT_EQ(head.status(), get.status());
        EXPECT_EQ(head.body, "");
        EXPECT_EQ(head.header("Content-Length"), get.header("Content-Length"));
    }
}

TEST(refused_bodies, of_a_server_that_the_handler_called_are_not_the_fault_of_its_client) {
    const scripted_peer behind(
        script().read_head().send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"));
    http::client client;
    const local_server front([&](http::request&) -> task<http::response> {
        const std::string url = behind.url();
        auto call = client.get(url);
        auto r = co_await call.full();
        co_return http::response(std::move(r.body));
    });
    const auto r = client.get(front.url()).wait();
    EXPECT_EQ(r.status, http::status::internal_server_error);
    EXPECT_THAT(r.body, ::testing::Not(HasSubstr("chunk")));
}

}  // namespace
}  // namespace coracle::testing
