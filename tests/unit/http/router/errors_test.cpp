#include "support/virtual_time.hpp"

#include <coracle/http/extract.hpp>
#include <coracle/http/https_only.hpp>
#include <coracle/http/router.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

using namespace coracle;
using coracle::testing::run_virtually;
using http::handler;
using http::request;
using http::response;
using http::router;
using http::status;

namespace {

/// The status, the type and the body; `X-Seen` too, where a middleware has set it.
std::string ask(const handler& h, std::string_view path, std::string_view method = "GET") {
    request req;
    request::parts p;
    p.method = http::parse_method(method);
    p.method_text = method;
    p.path = path;
    p.target = path;
    req.assign(p);
    return run_virtually([&]() -> task<std::string> {
        response r = co_await h(req);
        const std::string_view set = r.header("Content-Type");
        std::string text = std::to_string(static_cast<int>(r.status())) + ' ';
        text += set.empty() ? r.default_type() : set;
        text += ' ';
        text += r.body().bytes();
        if (r.fields().contains("X-Seen")) text += " seen " + std::string(r.header("X-Seen"));
        co_return text;
    });
}

/// Notes the response that it sees.
task<response> note(request& req, const handler& next) {
    response r = co_await next(req);
    r.set("X-Seen", std::to_string(static_cast<int>(r.status())));
    co_return r;
}

/// As a middleware that takes a handler and gives one.
handler note_around(handler inner) {
    return [inner](request& req) -> task<response> {
        response r;
        task<response> pending;
        if (!inner.call(req, r, pending)) r = co_await std::move(pending);
        r.set("X-Seen", std::to_string(static_cast<int>(r.status())));
        co_return r;
    };
}

void add_failing_routes(router& r) {
    r.get("/now", [](request&) -> response { throw std::runtime_error("secret"); });
    r.get("/later", [](request&) -> task<response> {
        co_await yield();
        throw std::runtime_error("secret");
    });
    r.get("/gone", [](request&) -> response { throw http::status_error(status::gone, "sold\n"); });
    r.get("/teapot", [](request&) -> task<response> {
        co_await yield();
        throw http::status_error(status::conflict);
    });
    r.get("/large", [](request&) -> task<response> {
        co_await yield();
        throw_exception(error(http::make_error_code(status::content_too_large), "body"));
    });
}

constexpr std::string_view plain_500 = "500 text/plain; charset=utf-8 500 Internal Server Error\n";

}  // namespace

TEST(a_middleware, gets_a_response_for_whatever_its_inner_handler_throws) {
    for (const bool around : {false, true}) {
        router r;
        if (around)
            r.use(note_around);
        else
            r.use(note);
        add_failing_routes(r);
        EXPECT_EQ(ask(r, "/now"), std::string(plain_500) + " seen 500");
        EXPECT_EQ(ask(r, "/later"), std::string(plain_500) + " seen 500");
        EXPECT_EQ(ask(r, "/gone"), "410 text/plain; charset=utf-8 sold\n seen 410");
        EXPECT_EQ(ask(r, "/teapot"), "409 text/plain; charset=utf-8 409 Conflict\n seen 409");
        EXPECT_EQ(ask(r, "/large"),
                  "413 text/plain; charset=utf-8 413 Content Too Large\n seen 413");
        EXPECT_EQ(ask(r, "/none"), "404 text/plain; charset=utf-8 404 Not Found\n seen 404");
        EXPECT_EQ(ask(r, "/now", "POST"),
                  "405 text/plain; charset=utf-8 405 Method Not Allowed\n seen 405");
    }
}

TEST(a_middleware, gets_a_response_for_what_one_inside_of_it_throws) {
    router r;
    r.use(note);
    r.use([](request&, const handler&) -> task<response> {
        throw http::status_error(status::unauthorized, "who?\n");
        co_return response();
    });
    r.get("/", [](request&) { return "never"; });
    EXPECT_EQ(ask(r, "/"), "401 text/plain; charset=utf-8 who?\n seen 401");
}

TEST(a_middleware, of_a_group_or_of_one_route_gets_responses_too) {
    router r;
    r.group("/in", [](router& g) {
        g.use(note);
        add_failing_routes(g);
    });
    const auto fails = [](request&) -> response { throw std::runtime_error("x"); };
    r.get("/alone", http::wrap(note, handler(fails)));
    EXPECT_EQ(ask(r, "/in/later"), std::string(plain_500) + " seen 500");
    EXPECT_EQ(ask(r, "/alone"), std::string(plain_500) + " seen 500");
}

TEST(a_middleware, gets_errors_before_their_page_is_made) {
    router r;
    r.use(note);
    add_failing_routes(r);
    r.error_page(status::conflict, [](request&) { return http::html("<p>taken"); });
    EXPECT_EQ(ask(r, "/teapot"), "409 text/html; charset=utf-8 <p>taken seen 409");
    EXPECT_EQ(ask(r, "/gone"), "410 text/plain; charset=utf-8 sold\n seen 410");
}

TEST(an_exception, is_logged_with_its_type_and_the_request_but_not_its_query) {
    std::string logged;
    logger log(log_level::warning);
    log.set_sink(
        [](void* to, log_level, log_layer, std::string_view text) {
            static_cast<std::string*>(to)->append(text).append("\n");
        },
        &logged);
    router r;
    r.use(note);
    add_failing_routes(r);
    const handler h = r;
    runtime_options options;
    options.log = &log;
    const auto call = [&](std::string_view path, std::string_view target) {
        request req;
        request::parts p;
        p.method_text = "GET";
        p.path = path;
        p.target = target;
        req.assign(p);
        block_on([&]() -> task<> { static_cast<void>(co_await h(req)); }, options);
    };
    call("/later", "/later?token=1");
    call("/gone", "/gone");
    call("/large", "/large");
    EXPECT_EQ(logged, "a handler failed for GET /later: std::runtime_error: secret\n");
}

TEST(problem_details, are_made_of_all_errors) {
    for (const bool with_middleware : {false, true}) {
        router r;
        if (with_middleware) r.use([](request& req, const handler& next) { return next(req); });
        add_failing_routes(r);
        r.get("/found", [](request&) { return "found"; });
        r.get("/own", [](request&) { return response(status::not_found, "no such boat\n"); });
        r.get("/html", [](request&) {
            return std::move(http::html("<p>no").set_status(status::not_found));
        });
        r.get("/number", [](http::query<"n", int> n) { return std::to_string(*n); });
        r.problem_details();
        const std::string type = " application/problem+json ";
        EXPECT_EQ(ask(r, "/none"), "404" + type + R"({"title":"Not Found","status":404})");
        EXPECT_EQ(ask(r, "/found", "POST"),
                  "405" + type + R"({"title":"Method Not Allowed","status":405})");
        EXPECT_EQ(ask(r, "/now"),
                  "500" + type + R"({"title":"Internal Server Error","status":500})");
        EXPECT_EQ(ask(r, "/later"),
                  "500" + type + R"({"title":"Internal Server Error","status":500})");
        EXPECT_EQ(ask(r, "/gone"),
                  "410" + type + R"({"title":"Gone","status":410,"detail":"sold"})");
        EXPECT_EQ(ask(r, "/teapot"), "409" + type + R"({"title":"Conflict","status":409})");
        EXPECT_EQ(ask(r, "/own"),
                  "404" + type + R"({"title":"Not Found","status":404,"detail":"no such boat"})");
        EXPECT_EQ(ask(r, "/number"), "400" + type +
                                         R"({"title":"Bad Request","status":400,)"
                                         R"("detail":"query parameter 'n' is missing"})");
        EXPECT_EQ(ask(r, "/found"), "200 text/plain; charset=utf-8 found");
        EXPECT_EQ(ask(r, "/html"), "404 text/html; charset=utf-8 <p>no") << "is meant so";
        r.problem_details(false);
        EXPECT_EQ(ask(r, "/none"), "404 text/plain; charset=utf-8 404 Not Found\n");
    }
}

TEST(problem_details, are_seen_by_middleware_and_give_way_to_pages) {
    router r;
    r.use([](request& req, const handler& next) -> task<response> {
        response res = co_await next(req);
        res.set("X-Seen", res.default_type());
        co_return res;
    });
    add_failing_routes(r);
    r.problem_details();
    r.error_page(status::not_found, [](request&) { return http::html("<p>nothing"); });
    EXPECT_EQ(ask(r, "/gone"),
              "410 application/problem+json "
              R"({"title":"Gone","status":410,"detail":"sold"} seen application/problem+json)");
    EXPECT_TRUE(ask(r, "/none").starts_with("404 text/html; charset=utf-8 <p>nothing"));
}
