// Middleware that bounds how often.

#include "unit/http/middleware/asked.hpp"

#include <coracle/http/middleware/rate_limit.hpp>
#include <coracle/http/request.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/tls/hash.hpp>

#include <memory>

using namespace middleware_test;

TEST(rate_limit, refuses_who_makes_more_requests_than_the_bucket_holds) {
    http::rate_limit_options o;
    o.requests = 2;
    o.per = 10s;
    const http::rate_limit limit(o);
    const http::handler h = limit(plain());
    run_virtually([&]() -> task<> {
        EXPECT_EQ(co_await status_for(h, "192.0.2.1"), 200);
        EXPECT_EQ(co_await status_for(h, "192.0.2.1"), 200);
        asked third("GET");
        co_await third.by(h);
        EXPECT_EQ(third.status(), 429);
        EXPECT_EQ(third.header("Retry-After"), "5");
        EXPECT_EQ(co_await status_for(h, "192.0.2.2"), 200);
        co_await sleep_for(4900ms);
        EXPECT_EQ(co_await status_for(h, "192.0.2.1"), 429);
        co_await sleep_for(200ms);
        EXPECT_EQ(co_await status_for(h, "192.0.2.1"), 200);
        EXPECT_EQ(co_await status_for(h, "192.0.2.1"), 429);
        // It never holds more than it began with.
        co_await sleep_for(1h);
        EXPECT_EQ(co_await status_for(h, "192.0.2.1"), 200);
        EXPECT_EQ(co_await status_for(h, "192.0.2.1"), 200);
        EXPECT_EQ(co_await status_for(h, "192.0.2.1"), 429);
    });
    EXPECT_EQ(limit.refused(), 4u);
}

// Loops share the buckets, and one may know an earlier time than another.
TEST(rate_limit, gives_no_time_twice) {
    http::rate_limit_options o;
    o.requests = 1;
    o.per = 10s;
    const http::handler h = http::rate_limit(o)(plain());
    const auto ask_after = [&](duration d, int wanted) {
        run_virtually([&]() -> task<> {
            co_await sleep_for(d);
            EXPECT_EQ(co_await status_for(h, "192.0.2.1"), wanted);
        });
    };
    ask_after(10s, 200);
    ask_after(1s, 429);
    ask_after(11s, 429);
    ask_after(20s, 200);
}

TEST(rate_limit, takes_a_site_of_ipv6_for_one_client) {
    http::rate_limit_options o;
    o.requests = 1;
    const http::handler h = http::rate_limit(o)(plain());
    run_virtually([&]() -> task<> {
        EXPECT_EQ(co_await status_for(h, "2001:db8::1"), 200);
        EXPECT_EQ(co_await status_for(h, "2001:db8::ffff:1"), 429);
        EXPECT_EQ(co_await status_for(h, "2001:db8:0:1::1"), 200);
    });
}

TEST(rate_limit, tells_clients_of_ipv4_apart_on_a_socket_for_both_families) {
    http::rate_limit_options o;
    o.requests = 1;
    const http::handler h = http::rate_limit(o)(plain());
    run_virtually([&]() -> task<> {
        EXPECT_EQ(co_await status_for(h, "::ffff:192.0.2.1"), 200);
        EXPECT_EQ(co_await status_for(h, "::ffff:192.0.2.1"), 429);
        EXPECT_EQ(co_await status_for(h, "::ffff:192.0.2.2"), 200);
    });
}

TEST(rate_limit, tells_clients_apart_by_a_key_of_the_programs_own) {
    http::rate_limit_options o;
    o.requests = 1;
    o.burst = 3;
    o.key = [](const http::request& req) { return std::string(req.header("X-User")); };
    const http::handler h = http::rate_limit(o)(plain());
    run_virtually([&]() -> task<> {
        for (int i = 0; i != 3; ++i) EXPECT_EQ(co_await status_for(h, "192.0.2.1", "ann"), 200);
        EXPECT_EQ(co_await status_for(h, "192.0.2.2", "ann"), 429);
        EXPECT_EQ(co_await status_for(h, "192.0.2.1", "ben"), 200);
        for (int i = 0; i != 9; ++i) EXPECT_EQ(co_await status_for(h, "192.0.2.1"), 200);
    });
}

TEST(rate_limit, forgets_who_was_quiet_for_longest) {
    http::rate_limit_options o;
    o.requests = 1;
    o.per = 1h;
    o.keys = 16;  // one for each lock
    o.key = [](const http::request& req) { return std::string(req.header("X-User")); };
    const http::handler h = http::rate_limit(o)(plain());
    run_virtually([&]() -> task<> {
        EXPECT_EQ(co_await status_for(h, "192.0.2.1", "first"), 200);
        EXPECT_EQ(co_await status_for(h, "192.0.2.1", "first"), 429);
        int served = 0;
        for (int i = 0; i != 500; ++i) {
            const int status = co_await status_for(h, "192.0.2.1", std::to_string(i));
            served += status == 200 ? 1 : 0;
        }
        EXPECT_EQ(served, 500);
        EXPECT_EQ(co_await status_for(h, "192.0.2.1", "first"), 200);
    });
}

TEST(rate_limit, remembers_who_was_there_lately) {
    http::rate_limit_options o;
    o.requests = 1;
    o.per = 1h;
    o.keys = 64;  // four for each lock
    o.key = [](const http::request& req) { return std::string(req.header("X-User")); };
    const http::handler h = http::rate_limit(o)(plain());
    run_virtually([&]() -> task<> {
        EXPECT_EQ(co_await status_for(h, "192.0.2.1", "first"), 200);
        for (int i = 0; i != 500; ++i) {
            const int other = co_await status_for(h, "192.0.2.1", std::to_string(i));
            EXPECT_EQ(other, 200);
            EXPECT_EQ(co_await status_for(h, "192.0.2.1", "first"), 429) << i;
        }
    });
}

namespace {

/// Gives what the test says, late or never.
class scripted_store final : public http::rate_limit_store {
public:
    task<std::expected<duration, error>> take(std::string_view key,
                                              const http::token_rate& rate) override {
        asked_for += std::string(key) + ' ';
        seen = rate;
        if (delay != duration::zero()) co_await sleep_for(delay);
        co_return outcome;
    }
    std::expected<duration, error> outcome = duration::zero();
    duration delay{};
    std::string asked_for;
    http::token_rate seen;
};

}  // namespace

TEST(rate_limit, takes_tokens_from_a_store_of_the_programs_own) {
    const auto store = std::make_shared<scripted_store>();
    http::rate_limit_options o;
    o.requests = 120;
    o.per = 1min;
    o.burst = 7;
    o.store = store;
    const http::rate_limit limit(o);
    run_virtually([&]() -> task<> {
        for (const bool waits : {false, true}) {
            http::handler inner = plain();
            if (waits) inner = waiting();
            const http::handler h = limit(inner);
            store->outcome = duration::zero();
            EXPECT_EQ(co_await status_for(h, "192.0.2.1"), 200);
            store->outcome = 1500ms;
            asked refused("GET");
            co_await refused.by(h);
            EXPECT_EQ(refused.status(), 429);
            EXPECT_EQ(refused.header("Retry-After"), "2");
        }
    });
    EXPECT_EQ(store->asked_for, "3:2/7:192.0.2.1 3:2/7:192.0.2.1 3:2/7:192.0.2.1 3:2/7:192.0.2.1 ");
    EXPECT_EQ(store->seen.per_second, 2);
    EXPECT_EQ(store->seen.burst, 7);
    EXPECT_EQ(limit.refused(), 2u);
    EXPECT_EQ(limit.store_failures(), 0u);
}

TEST(rate_limit, does_as_it_says_when_its_store_fails_or_is_late) {
    for (const bool closed : {false, true}) {
        const auto store = std::make_shared<scripted_store>();
        http::rate_limit_options o;
        o.store = store;
        o.store_timeout = 100ms;
        if (closed) o.on_failure = http::rate_limit_failure::refuse;
        const http::rate_limit limit(o);
        const http::handler h = limit(plain());
        const int expected = closed ? 503 : 200;
        run_virtually([&]() -> task<> {
            store->outcome = std::unexpected(error(std::errc::connection_refused));
            EXPECT_EQ(co_await status_for(h, "192.0.2.1"), expected);
            store->outcome = duration::zero();
            store->delay = 99ms;
            EXPECT_EQ(co_await status_for(h, "192.0.2.1"), 200);
            store->delay = 1h;
            const time_point begin = loop::current()->now();
            EXPECT_EQ(co_await status_for(h, "192.0.2.1"), expected);
            EXPECT_EQ(loop::current()->now() - begin, 100ms);
        });
        EXPECT_EQ(limit.store_failures(), 2u);
        EXPECT_EQ(limit.refused(), 0u);
    }
}

TEST(rate_limit, has_buckets_of_its_own_in_a_store_that_others_use) {
    const auto store = std::make_shared<scripted_store>();
    const auto key_for = [&](http::rate_limit_options o) {
        o.store = store;
        store->asked_for.clear();
        const http::handler h = http::rate_limit(o)(plain());
        run_virtually([&]() -> task<> { EXPECT_EQ(co_await status_for(h, "192.0.2.1"), 200); });
        return store->asked_for;
    };
    const std::string site = key_for({.requests = 100});
    EXPECT_NE(key_for({.requests = 5, .per = 1min}), site);
    EXPECT_NE(key_for({.requests = 100, .burst = 7}), site);
    EXPECT_EQ(key_for({.requests = 100}), site);
    EXPECT_EQ(key_for({.requests = 5, .name = "one"}), key_for({.requests = 7, .name = "one"}));
    // Names are a client's, and may be long.
    const auto name_of = [&](std::string name) {
        http::rate_limit_options o;
        o.key = [&](const http::request&) { return name; };
        return key_for(std::move(o));
    };
    EXPECT_EQ(name_of(std::string(100, 'n')), "7:100/100:" + std::string(100, 'n') + ' ');
    const std::string long_one = name_of(std::string(16'000, 'n'));
    EXPECT_LT(long_one.size(), 100U);
    EXPECT_NE(name_of(std::string(16'001, 'n')), long_one);
}

TEST(rate_limit, remembers_long_names_by_their_digest) {
    http::rate_limit_options o;
    o.requests = 1;
    o.per = 1h;
    o.key = [](const http::request& req) { return std::string(req.header("X-User")); };
    const http::handler h = http::rate_limit(o)(plain());
    const std::string name(16'000, 'n');
    run_virtually([&]() -> task<> {
        EXPECT_EQ(co_await status_for(h, "192.0.2.1", name), 200);
        const std::string digest = tls::to_hex(tls::digest(tls::hash::sha256, name));
        EXPECT_EQ(co_await status_for(h, "192.0.2.1", digest), 429);
        EXPECT_EQ(co_await status_for(h, "192.0.2.1", name + 'x'), 200);
    });
}

TEST(rate_limit, serves_nobody_for_whom_a_store_that_works_has_no_room) {
    const auto store = std::make_shared<scripted_store>();
    http::rate_limit_options o;
    o.store = store;
    const http::rate_limit limit(o);
    const http::handler h = limit(plain());
    run_virtually([&]() -> task<> {
        EXPECT_EQ(co_await status_for(h, "192.0.2.1"), 200);
        store->outcome = std::unexpected(error(errc::limit_exceeded));
        EXPECT_EQ(co_await status_for(h, "192.0.2.1"), 503);
        // It may stand still: then the policy holds.
        co_await sleep_for(1s);
        EXPECT_EQ(co_await status_for(h, "192.0.2.1"), 200);
    });
    EXPECT_EQ(limit.store_failures(), 2u);
}

TEST(rate_limit, takes_a_client_that_leaves_for_no_failure_of_its_store) {
    const auto store = std::make_shared<scripted_store>();
    store->delay = 1s;
    http::rate_limit_options o;
    o.store = store;
    o.store_timeout = 1h;
    const http::rate_limit limit(o);
    bool handled = false;
    const http::handler h = limit([&](http::request&) {
        handled = true;
        return http::response();
    });
    run_virtually([&]() -> task<> {
        asked a("GET");
        const auto ask = [&] { return a.by(h); };
        EXPECT_FALSE(co_await as_result(with_timeout(10ms, ask)));
    });
    EXPECT_EQ(store->asked_for, "7:100/100:192.0.2.1 ");
    EXPECT_FALSE(handled);
    EXPECT_EQ(limit.store_failures(), 0u);
}

TEST(rate_limit, says_to_come_back_much_later_where_it_is_slow) {
    const std::pair<double, duration> rows[] = {
        {1e-12, 1s}, {0.5, duration::max()}, {1, duration::max()}};
    for (const auto& [requests, per] : rows) {
        http::rate_limit_options o;
        o.requests = requests;
        o.per = per;
        const http::rate_limit limit(o);
        const http::handler h = limit(plain());
        run_virtually([&]() -> task<> {
            EXPECT_EQ(co_await status_for(h, "192.0.2.1"), 200);
            asked second("GET");
            co_await second.by(h);
            EXPECT_EQ(second.status(), 429);
            EXPECT_GE(second.header("Retry-After").size(), 9u) << second.header("Retry-After");
        });
    }
}

TEST(rate_limit, refuses_numbers_that_are_not_positive) {
    for (const double requests : {0.0, -1.0}) {
        EXPECT_NE(refusal_of([&] { http::rate_limit{{.requests = requests}}; }), "none");
    }
    EXPECT_NE(refusal_of([] { http::rate_limit{{.per = 0s}}; }), "none");
    EXPECT_NE(refusal_of([] { http::rate_limit{{.keys = 0}}; }), "none");
    EXPECT_EQ(refusal_of([] { http::rate_limit{}; }), "none");
}
