#include "unit/http/middleware/asked.hpp"

#include <coracle/http/middleware/authenticate.hpp>
#include <coracle/http/middleware/health.hpp>
#include <coracle/mime/base64.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <atomic>
#include <stdexcept>

using namespace middleware_test;

namespace {

http::handler who() {
    return [](http::request& req) {
        const auto* const i = req.data<http::identity>();
        return i == nullptr ? std::string("nobody") : i->name;
    };
}

http::basic_authentication::check_function ann() {
    return [](std::string_view user, std::string_view password) -> task<bool> {
        co_return user == "ann" && password == "a:b";
    };
}

std::string basic(std::string_view text) {
    return "Basic " + mime::base64_encode(text);
}

}  // namespace

TEST(basic_authentication, serves_who_is_right) {
    const http::handler h = http::wrap(http::basic_authentication(ann()), who());
    const auto with = [&h](std::string_view value) {
        asked a("GET", {{"Authorization", value}});
        run_virtually([&] { return a.by(h); });
        if (a.status() == 401) {
            EXPECT_EQ(a.header("WWW-Authenticate"),
                      "Basic realm=\"restricted\", charset=\"UTF-8\"");
        }
        return std::to_string(a.status()) + a.text();
    };
    EXPECT_EQ(with(basic("ann:a:b")), "200ann");
    EXPECT_EQ(with("bASIC  " + mime::base64_encode("ann:a:b")), "200ann");
    for (const std::string& wrong :
         {basic("ann:a"), basic("ben:a:b"), basic("ann"), std::string("Basic"),
          std::string("Basic ???"), std::string("Bearer x"), std::string()}) {
        EXPECT_EQ(with(wrong), "401") << wrong;
    }
}

TEST(basic_authentication, may_be_optional) {
    http::authentication_options o;
    o.optional = true;
    o.realm = "boats";
    const http::handler h = http::wrap(http::basic_authentication(ann(), o), who());
    asked without("GET");
    asked wrong("GET", {{"Authorization", basic("ann:x")}});
    asked other("GET", {{"Authorization", "Bearer x"}});
    run_virtually([&]() -> task<> {
        co_await without.by(h);
        co_await wrong.by(h);
        co_await other.by(h);
    });
    EXPECT_EQ(without.text(), "nobody");
    EXPECT_EQ(wrong.status(), 401);
    EXPECT_EQ(wrong.header("WWW-Authenticate"), "Basic realm=\"boats\", charset=\"UTF-8\"");
    EXPECT_EQ(other.text(), "nobody");
    o.realm = "a\"b";
    EXPECT_EQ(refusal_of([&] { http::basic_authentication{ann(), o}; }), "realm");
}

TEST(bearer_authentication, serves_who_has_a_token) {
    const auto check = [](std::string_view token) -> task<std::optional<std::string>> {
        if (token == "good") co_return "ann";
        co_return std::nullopt;
    };
    const http::handler h = http::wrap(http::bearer_authentication(check), who());
    asked right("GET", {{"Authorization", "Bearer good"}});
    asked wrong("GET", {{"Authorization", "Bearer bad"}});
    asked empty("GET", {{"Authorization", "Bearer"}});
    asked without("GET");
    run_virtually([&]() -> task<> {
        co_await right.by(h);
        co_await wrong.by(h);
        co_await empty.by(h);
        co_await without.by(h);
    });
    EXPECT_EQ(right.text(), "ann");
    EXPECT_EQ(wrong.status(), 401);
    EXPECT_EQ(wrong.header("WWW-Authenticate"),
              "Bearer realm=\"restricted\", error=\"invalid_token\"");
    EXPECT_EQ(empty.status(), 401);
    EXPECT_EQ(without.status(), 401);
    EXPECT_EQ(without.header("WWW-Authenticate"), "Bearer realm=\"restricted\"");
}

TEST(health, is_live_while_the_loop_runs_and_ready_when_all_checks_pass) {
    http::health health;
    bool well = true;
    int runs = 0;
    health.add("database", [&]() -> task<bool> {
        ++runs;
        co_await sleep_for(10ms);
        co_return well;
    });
    health.add("queue", []() -> task<bool> { co_return true; });
    const http::handler live = health.live();
    const http::handler ready = health.ready();
    const auto text = [](const http::handler& h) -> task<std::string> {
        asked a("GET");
        co_await a.by(h);
        EXPECT_EQ(a.header("Cache-Control"), "no-store");
        co_return std::to_string(a.status()) + ' ' + a.text();
    };
    run_virtually([&]() -> task<> {
        EXPECT_EQ(co_await text(live), "200 ok\n");
        EXPECT_EQ(co_await text(ready), "200 database: ok\nqueue: ok\n");
        well = false;
        EXPECT_EQ(co_await text(ready), "200 database: ok\nqueue: ok\n");
        EXPECT_EQ(runs, 1);
        co_await sleep_for(1s);
        EXPECT_EQ(co_await text(ready), "503 database: failed\nqueue: ok\n");
        EXPECT_EQ(runs, 2);
        well = true;
        co_await sleep_for(1s);
        health.set_ready(false);
        EXPECT_EQ(co_await text(ready), "503 not ready\n");
        EXPECT_EQ(co_await text(live), "200 ok\n");
        health.set_ready(true);
        EXPECT_EQ(co_await text(ready), "200 database: ok\nqueue: ok\n");
    });
}

TEST(health, takes_a_probe_that_was_cancelled_for_no_failure) {
    http::health health;
    health.add("slow", []() -> task<bool> {
        co_await sleep_for(100ms);
        co_return true;
    });
    const http::handler ready = health.ready();
    run_virtually([&]() -> task<> {
        asked first("GET");
        const auto ask = [&] { return first.by(ready); };
        EXPECT_FALSE(co_await as_result(with_timeout(10ms, ask)));
        asked second("GET");
        co_await second.by(ready);
        EXPECT_EQ(second.text(), "slow: ok\n");
    });
}

TEST(health, counts_a_check_that_throws_or_hangs_as_failed) {
    http::health health({.patience = 2s});
    health.add("throws", []() -> task<bool> {
        co_await sleep_for(1ms);
        throw std::runtime_error("no");
    });
    health.add("fails", []() -> task<bool> {
        co_await sleep_for(1ms);
        throw_exception(error(std::errc::connection_refused));
    });
    health.add("is cancelled", []() -> task<bool> {
        co_await sleep_for(1ms);
        throw_exception(error(std::errc::operation_canceled));
    });
    health.add("hangs", []() -> task<bool> {
        co_await sleep_for(1h);
        co_return true;
    });
    const http::handler ready = health.ready();
    asked a("GET");
    run_virtually([&]() -> task<> {
        const time_point begun = loop::current()->now();
        co_await a.by(ready);
        EXPECT_LT(loop::current()->now() - begun, 3s);
    });
    EXPECT_EQ(a.status(), 503);
    EXPECT_EQ(a.text(), "throws: failed\nfails: failed\nis cancelled: failed\nhangs: timed out\n");
}

TEST(health, runs_its_checks_once_for_probes_that_come_meanwhile) {
    http::health health;
    int runs = 0;
    health.add("hangs", [&]() -> task<bool> {
        ++runs;
        co_await sleep_for(1h);
        co_return true;
    });
    // As a plain function may.
    health.add("throws", [](auto&&...) -> task<bool> {
        throw_exception(error(std::errc::connection_refused));
    });
    const http::handler ready = health.ready();
    run_virtually([&]() -> task<> {
        const auto probe = [&]() -> task<> {
            asked a("GET");
            co_await a.by(ready);
            EXPECT_EQ(a.text(), "hangs: timed out\nthrows: failed\n");
        };
        co_await when_all(probe(), probe(), probe());
        EXPECT_EQ(runs, 1);
        // The outcome holds from its end on.
        const time_point begun = loop::current()->now();
        co_await probe();
        EXPECT_EQ(runs, 1);
        EXPECT_EQ(loop::current()->now(), begun);
        co_await sleep_for(1s);
        co_await probe();
        EXPECT_EQ(runs, 2);
    });
}
