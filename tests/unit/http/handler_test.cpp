#include "support/virtual_time.hpp"

#include <coracle/http/handler.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

using namespace coracle;
using coracle::testing::run_virtually;
using http::handler;
using http::request;
using http::response;

namespace {

std::string response_of(const handler& h) {
    return run_virtually([&]() -> task<std::string> {
        request req;
        response r = co_await h(req);
        std::string text = std::to_string(static_cast<int>(r.status())) + ' ';
        text += r.body().bytes();
        co_return text;
    });
}

response plain_function(request&) {
    return "function";
}

task<response> coroutine_function(request&) {
    co_await yield();
    co_return "coroutine";
}

}  // namespace

TEST(handler, is_made_of_functions_and_coroutines) {
    EXPECT_EQ(response_of(&plain_function), "200 function");
    EXPECT_EQ(response_of(&coroutine_function), "200 coroutine");
    EXPECT_EQ(response_of([](request&) -> task<response> { co_return "lambda"; }), "200 lambda");
}

TEST(handler, takes_whatever_a_response_can_be_made_of) {
    EXPECT_EQ(response_of([](request&) { return std::string("string"); }), "200 string");
    EXPECT_EQ(response_of([](request&) { return "literal"; }), "200 literal");
    EXPECT_EQ(response_of([](request&) { return http::status::no_content; }), "204 ");
    EXPECT_EQ(response_of([](request&) -> task<std::string> { co_return "task"; }), "200 task");
    EXPECT_EQ(response_of([](request&) -> task<http::status> { co_return http::status::gone; }),
              "410 ");
}

TEST(handler, responds_at_once_or_with_a_task) {
    request req;
    response res;
    task<response> pending;
    EXPECT_TRUE(handler(&plain_function).call(req, res, pending));
    EXPECT_EQ(res.body().bytes(), "function");
    EXPECT_FALSE(handler(&coroutine_function).call(req, res, pending));
    EXPECT_TRUE(pending);
}

TEST(handler, owns_what_its_lambda_captured) {
    handler h;
    EXPECT_FALSE(h);
    {
        auto text = std::make_unique<std::string>(100, 'x');
        h = [text = std::move(text)](request&) -> task<response> {
            co_await yield();
            co_return *text;
        };
    }
    EXPECT_EQ(response_of(h), "200 " + std::string(100, 'x'));
    const handler copy = h;  // NOLINT(performance-unnecessary-copy-initialization)
    h = {};
    EXPECT_EQ(response_of(copy), "200 " + std::string(100, 'x'));
}

TEST(handler, lets_exceptions_through) {
    EXPECT_THROW(response_of([](request&) -> response { throw std::runtime_error("no"); }),
                 std::runtime_error);
    EXPECT_THROW(response_of([](request&) -> task<response> {
                     throw http::status_error(http::status::conflict);
                     co_return "";
                 }),
                 http::status_error);
}

TEST(wrap, puts_a_middleware_around_a_handler) {
    const std::string mark = "+" + std::string(100, 'm');
    const auto intercepts = [mark](request& req, const handler& next) -> task<response> {
        response r = co_await next(req);
        co_return std::string(r.body().bytes()) + mark;
    };
    EXPECT_EQ(response_of(http::wrap(intercepts, &plain_function)), "200 function" + mark);
    EXPECT_EQ(response_of(http::wrap(intercepts, &coroutine_function)), "200 coroutine" + mark);
    const auto wraps = [](handler inner) -> handler {
        return [inner = std::move(inner)](request& req) -> task<response> {
            response r = co_await inner(req);
            co_return "<" + std::string(r.body().bytes()) + ">";
        };
    };
    EXPECT_EQ(response_of(http::wrap(wraps, http::wrap(intercepts, &plain_function))),
              "200 <function" + mark + ">");
}

TEST(wrap, lets_a_middleware_respond_by_itself) {
    const auto refuses = [](request&, const handler&) -> task<response> {
        co_return http::status::forbidden;
    };
    EXPECT_EQ(response_of(http::wrap(refuses, &plain_function)), "403 ");
}
