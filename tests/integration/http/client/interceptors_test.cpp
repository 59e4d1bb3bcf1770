// Interceptors of a client: around each call, with the whole request and the whole response.

#include "support/client_calls.hpp"

#include <coracle/runtime/runtime.hpp>
#include <coracle/testing/local_server.hpp>

#include <stdexcept>

namespace coracle::testing {
namespace {

task<http::response> mark(http::request& req, const http::handler& next) {
    auto going = next(req);
    http::response r = co_await std::move(going);
    r.set("X-Marked", "yes");
    co_return std::move(r);
}

TEST(client_interceptors, stand_around_each_call) {
    const local_server server(path_of);
    http::client client;
    client.use(mark);
    const auto r = client.get(server.url("/a")).wait();
    EXPECT_EQ(r.body, "/a");
    EXPECT_EQ(r.header("X-Marked"), "yes");
}

TEST(client_interceptors, that_cannot_be_made_leave_the_others) {
    const local_server server(path_of);
    http::client client;
    client.use(mark);
    const auto fails = [](http::handler) -> http::handler { throw std::runtime_error("no"); };
    EXPECT_THROW(client.use(fails), std::runtime_error);
    client.use([](http::request& req, const http::handler& next) { return next(req); });
    EXPECT_EQ(client.get(server.url("/a")).wait().header("X-Marked"), "yes");
}

task<http::response> cached(http::request& req, const http::handler& next) {
    if (req.path() == "/cached") co_return http::response("from the cache");
    auto going = next(req);
    http::response r = co_await std::move(going);
    if (req.path() == "/changed") r.set_text("changed");
    if (req.path() == "/emptied") r.set_text("");
    if (req.path() == "/dropped") r.set_body(http::body());
    co_return std::move(r);
}

TEST(client_interceptors, give_bodies_of_their_own) {
    const local_server server(path_of);
    http::client client;
    client.use(cached);
    EXPECT_EQ(client.get(server.url("/cached")).wait().body, "from the cache");
    const auto changed = client.get(server.url("/changed")).wait();
    EXPECT_EQ(changed.body, "changed");
    EXPECT_EQ(changed.info.attempts, 1U);
    for (const char* path : {"/emptied", "/dropped"}) {
        const auto emptied = client.get(server.url(path)).wait();
        EXPECT_EQ(emptied.body, "");
        EXPECT_EQ(emptied.info.attempts, 1U);
    }
    EXPECT_EQ(client.get(server.url("/other")).wait().body, "/other");
    block_on([&]() -> task<> {
        http::response r = co_await client.get(server.url("/cached"));
        EXPECT_EQ(r.length(), 14U);
        EXPECT_EQ(co_await r.read(), "from the cache");
        EXPECT_EQ(co_await r.read(), "");
        EXPECT_EQ(r.body().bytes(), "from the cache");
    });
}

/// Responds with what came: method, target, two fields and the body.
task<http::response> all_of(http::request& req) {
    const std::string body = co_await req.body().text();
    co_return http::response(std::string(req.method_text()) + ' ' + std::string(req.target()) +
                             ' ' + std::string(req.header("Content-Type")) + ' ' +
                             std::string(req.header("X-Signed")) + ' ' + body);
}

/// Sees all of a request and changes all of it.
task<http::response> rewrite(http::request& req, const http::handler& next) {
    const std::string seen = std::string(req.method_text()) + ' ' + std::string(req.path()) + ' ' +
                             std::string(req.query_text()) + ' ' + co_await req.body().text();
    if (req.path() == "/signed") {
        req.fields().set("X-Signed", std::to_string(seen.size()) + seen);
    } else if (req.path() == "/other") {
        const std::string elsewhere =
            "http://" + std::string(req.host()) + "/elsewhere?z=" + std::to_string(seen.size());
        req.set_method("PATCH").set_url(elsewhere).set_content(
            http::body("<" + std::string(req.content().bytes()) + ">"), "text/x-angles");
        EXPECT_EQ(req.method_text(), "PATCH");
        EXPECT_EQ(req.method(), http::method::patch);
        EXPECT_EQ(req.path(), "/elsewhere");
        EXPECT_EQ(req.target(), elsewhere);
        EXPECT_EQ(co_await req.body().text(), req.content().bytes());
    } else if (req.path() == "/form") {
        req.fields().set("X-Signed", seen.contains("name=\"name\"") ? "seen" : "not seen");
    } else if (req.path() == "/odd") {
        req.set_method("BREW");
    }
    auto going = next(req);
    co_return co_await std::move(going);
}

TEST(client_interceptors, see_and_change_all_of_a_request) {
    const local_server server(all_of);
    http::client client;
    client.use(rewrite);
    const auto seen =
        client.post(server.url("/signed?a=1")).query("b", "2 3").body("text", "text/plain").wait();
    EXPECT_EQ(seen.body,
              "POST /signed?a=1&b=2%203 text/plain 29POST /signed a=1&b=2%203 text text");
    const auto changed =
        client.post(server.url("/other")).query("q", "1").body("text", "text/plain").wait();
    EXPECT_EQ(changed.body, "PATCH /elsewhere?z=20 text/x-angles  <text>");
    EXPECT_EQ(changed.info.url.path(), "/elsewhere");
    EXPECT_EQ(client.get(server.url("/other")).wait().body,
              "PATCH /elsewhere?z=12 text/x-angles  <>");
    EXPECT_EQ(client.get(server.url("/odd")).wait().body, "BREW /odd   ");
    EXPECT_EQ(client.get(server.url("/plain")).wait().body, "GET /plain   ");
    http::form_body parts;
    parts.add("name", "value");
    const auto form = client.post(server.url("/form")).multipart(std::move(parts)).wait();
    EXPECT_NE(form.body.find(" seen "), std::string::npos) << form.body;
    EXPECT_NE(form.body.find("name=\"name\""), std::string::npos) << form.body;
}

TEST(client_interceptors, see_the_form_that_is_sent) {
    const local_server server(all_of);
    http::client client;
    std::string seen;
    client.use([&seen](http::request& req, const http::handler& next) -> task<http::response> {
        seen = req.content().bytes();
        auto going = next(req);
        co_return co_await std::move(going);
    });
    http::form_body parts;
    parts.add("name", "value");
    const auto form = client.post(server.url("/form")).multipart(std::move(parts)).wait();
    EXPECT_NE(seen.find("name=\"name\""), std::string::npos) << seen;
    EXPECT_TRUE(form.body.ends_with(' ' + seen)) << form.body << seen;
}

TEST(client_interceptors, change_nothing_into_what_cannot_be_sent) {
    const local_server server(all_of);
    http::client client;
    std::vector<std::error_code> refused;
    client.use([&refused](http::request& req, const http::handler& next) -> task<http::response> {
        const auto refuses = [&refused](auto f) {
            try {
                f();
                refused.emplace_back();
            } catch (const exception& e) {
                refused.push_back(e.code());
            }
        };
        refuses([&] { req.set_method("BAD METHOD"); });
        refuses([&] { req.set_method("CONNECT"); });
        refuses([&] { req.set_url("not a url"); });
        refuses([&] { req.set_content("y", "text/plain\r\nX-Injected: yes"); });
        auto going = next(req);
        co_return co_await std::move(going);
    });
    EXPECT_EQ(client.put(server.url("/same")).body("x", "a/b").wait().body, "PUT /same a/b  x");
    ASSERT_EQ(refused.size(), 4u);
    for (const std::error_code& code : refused) EXPECT_TRUE(code);
    // A request that came is nobody's to send.
    const local_server strict([](http::request& req) {
        try {
            req.set_method("PUT");
        } catch (const exception& e) {
            return http::response(e.code() == std::errc::operation_not_supported ? "no" : "other");
        }
        return http::response("yes");
    });
    EXPECT_EQ(http::client().get(strict.url()).wait().body, "no");
}

}  // namespace
}  // namespace coracle::testing
