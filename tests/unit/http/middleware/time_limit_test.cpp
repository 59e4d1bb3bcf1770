// Handlers that take too long, and those that say so themselves.
#include "unit/http/middleware/asked.hpp"

#include <coracle/http/middleware/csrf.hpp>
#include <coracle/http/middleware/in_flight_limit.hpp>
#include <coracle/http/middleware/time_limit.hpp>
#include <coracle/runtime/spawn.hpp>
#include <coracle/runtime/this_task.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <optional>

using namespace middleware_test;

namespace {

/// A body that stalls.
class stalled final : public http::body_source {
public:
    task<std::expected<std::string_view, error>> read() override {
        auto waiting = sleep_for(1h);
        const auto waited = co_await as_result(waiting);
        if (!waited) co_return std::unexpected(waited.error());
        co_return std::string_view();
    }
    std::optional<std::uint64_t> length() const noexcept override { return std::nullopt; }
};

/// A handler that ends its wait itself, and throws the error, as those do that clean up.
http::handler throws_when_cancelled() {
    return [](http::request&) -> task<http::response> {
        auto waiting = sleep_for(1h);
        const auto waited = co_await as_result(waiting);
        if (!waited) throw_exception(waited.error());
        co_return "reached";
    };
}

}  // namespace

TEST(time_limit, is_not_to_blame_for_timeouts_of_the_handler) {
    const http::handler failing = [](http::request&) -> task<http::response> {
        co_await sleep_for(1s);
        throw_exception(error(std::errc::timed_out, "of its own"));
    };
    // As around a client's calls, whose errors are not made into responses.
    const http::handler h = http::detail::put_around(http::time_limit(2s), failing);
    run_virtually([&]() -> task<> {
        error seen;
        try {
            static_cast<void>(co_await status_for(h));
        } catch (const exception& e) {
            seen = e.error();
        }
        EXPECT_EQ(seen, std::errc::timed_out);
        EXPECT_EQ(seen.operation(), "of its own");
    });
}

TEST(time_limit, may_have_no_end) {
    const http::handler slow = [](http::request&) -> task<http::response> {
        co_await sleep_for(24h);
        co_return "reached";
    };
    const http::handler h = http::wrap(http::time_limit(duration::max()), slow);
    run_virtually([&]() -> task<> { EXPECT_EQ(co_await status_for(h), 200); });
}

TEST(time_limit, cancels_a_handler_and_responds_in_its_place) {
    bool destroyed = false;
    struct mark {
        bool& at;
        ~mark() { at = true; }
    };
    const http::handler slow = [&destroyed](http::request&) -> task<http::response> {
        const mark m{destroyed};
        const auto due = co_await this_task::deadline();
        EXPECT_NE(due, time_point::max());
        co_await sleep_for(1h);
        co_return "reached";
    };
    const http::time_limit limit(2s);
    const http::handler h = http::wrap(limit, slow);
    const http::handler fast = http::wrap(limit, waiting());
    const http::handler failing = http::wrap(limit, [](http::request&) -> http::response {
        throw http::status_error(http::status::conflict, "no");
    });
    run_virtually([&]() -> task<> {
        const time_point begun = loop::current()->now();
        asked a("GET");
        co_await a.by(h);
        EXPECT_EQ(a.status(), 504);
        EXPECT_EQ(loop::current()->now() - begun, 2s);
        EXPECT_TRUE(destroyed);
        EXPECT_EQ(co_await status_for(fast), 200);
        EXPECT_EQ(co_await status_for(failing), 409);
        // A deadline from around it is not its own.
        const auto ask = [&h] { return status_for(h); };
        auto limited = with_timeout(1s, ask);
        const auto outer = co_await as_result(limited);
        EXPECT_TRUE(!outer && outer.error() == std::errc::timed_out);
    });
}

// A cancelled wait is no failure of the handler, whoever throws the error of it.
TEST(time_limit, is_told_from_a_failure) {
    const http::handler slow = throws_when_cancelled();
    http::in_flight_limit_options one;
    one.requests = 1;
    one.patience = 1h;
    const http::in_flight_limit limit(one);
    const http::handler occupying = limit([](http::request&) -> task<http::response> {
        co_await sleep_for(1h);
        co_return "";
    });
    const http::handler full = limit(plain());
    const http::handler inner = http::wrap(http::time_limit(30min), slow);
    run_virtually([&]() -> task<> {
        spawn([&]() -> task<> { static_cast<void>(co_await status_for(occupying)); }, "first");
        co_await sleep_for(1ms);
        for (const http::handler& h : {slow, full, inner}) {
            const time_point begun = loop::current()->now();
            EXPECT_EQ(co_await status_for(http::wrap(http::time_limit(2s), h)), 504);
            EXPECT_EQ(loop::current()->now() - begun, 2s);
        }
    });
}

TEST(time_limit, holds_for_the_form_that_csrf_reads) {
    http::csrf_options o;
    o.token = http::csrf_token::cookie;
    o.key = secret(std::string(32, 'k'));
    const http::csrf guard(o);
    asked got("GET");
    const http::handler page =
        http::wrap(guard, [](http::request& req) { return http::csrf::token(req); });
    run_virtually([&] { return got.by(page); });
    const std::string cookie = got.header("Set-Cookie");
    const http::handler h = http::wrap(http::time_limit(2s), http::wrap(guard, plain()));
    stalled body;
    asked a("POST", {{"Cookie", cookie.substr(0, cookie.find(';'))},
                     {"Content-Type", "application/x-www-form-urlencoded"}});
    a.req.set_body(http::received_body(&body));
    run_virtually([&] { return a.by(h); });
    EXPECT_EQ(a.status(), 504);
}
