// Middleware that bounds how often, and how many.

#include "unit/http/middleware/asked.hpp"

#include <coracle/http/middleware/in_flight_limit.hpp>
#include <coracle/http/middleware/rate_limit.hpp>
#include <coracle/http/request.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/tls/hash.hpp>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

using namespace middleware_test;

namespace {

task<int> status_for(http::handler h, std::string from, std::string user = {}) {
    asked a("GET", {{"X-User", user}}, from);
    co_await a.by(h);
    co_return a.status();
}

http::handler reached_after_a_second() {
    return [](http::request&) -> task<http::response> {
        co_await sleep_for(1s);
        co_return "reached";
    };
}

}  // namespace

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

TEST(in_flight_limit, says_no_negative_time) {
    http::in_flight_limit_options o;
    o.requests = 1;
    o.waiting = 0;
    o.retry_after = std::chrono::seconds(-5);
    const http::in_flight_limit limit(o);
    const http::handler h = limit(reached_after_a_second());
    run_virtually([&]() -> task<> {
        const auto all = [&](task_group& group) -> task<> {
            group.spawn([&]() -> task<> { co_await status_for(h, "192.0.2.1"); });
            co_await sleep_for(1ms);
            asked second("GET");
            co_await second.by(h);
            EXPECT_EQ(second.status(), 503);
            EXPECT_EQ(second.header("Retry-After"), "0");
        };
        co_await with_task_group(all);
    });
}

TEST(in_flight_limit, lets_a_few_in_and_the_next_wait_in_order) {
    http::in_flight_limit_options o;
    o.requests = 2;
    o.waiting = 2;
    o.patience = 10s;
    o.shed_after = 2s;
    const http::in_flight_limit limit(o);
    std::string order;
    const http::handler slow = [&order](http::request& req) -> task<http::response> {
        order += req.header("X-User");
        co_await sleep_for(1s);
        co_return "reached";
    };
    const http::handler h = limit(slow);
    std::vector<int> statuses(6);
    run_virtually([&]() -> task<> {
        const auto all = [&](task_group& group) -> task<> {
            for (std::size_t i = 0; i != statuses.size(); ++i) {
                group.spawn([&, i]() -> task<> {
                    statuses[i] =
                        co_await status_for(h, "192.0.2.1", std::string(1, char('a' + i)));
                });
            }
            co_return;
        };
        co_await with_task_group(all);
        EXPECT_EQ(co_await status_for(h, "192.0.2.1", "g"), 200);
    });
    EXPECT_EQ(statuses, (std::vector<int>{200, 200, 200, 200, 503, 503}));
    EXPECT_EQ(order, "abcdg");
    EXPECT_EQ(limit.refused(), 2u);
}

TEST(in_flight_limit, refuses_the_oldest_and_serves_the_newest_once_one_has_waited_for_long) {
    http::in_flight_limit_options o;
    o.requests = 1;
    o.waiting = 3;
    o.patience = 10s;
    o.shed_after = 500ms;
    const http::in_flight_limit limit(o);
    std::string order;
    const http::handler slow = [&order](http::request& req) -> task<http::response> {
        order += req.header("X-User");
        co_await sleep_for(1s);
        co_return "reached";
    };
    const http::handler h = limit(slow);
    run_virtually([&]() -> task<> {
        const auto at = [&h](duration when, std::string who, int wanted, duration end) -> task<> {
            co_await sleep_for(when);
            const time_point begun = loop::current()->now();
            EXPECT_EQ(co_await status_for(h, "::1", who), wanted) << who;
            EXPECT_EQ(loop::current()->now() - begun, end - when) << who;
        };
        const auto all = [&](task_group& group) -> task<> {
            group.spawn([&] { return at(0ms, "a", 200, 1000ms); });
            group.spawn([&] { return at(10ms, "b", 503, 511ms); });
            group.spawn([&] { return at(20ms, "c", 503, 600ms); });
            group.spawn([&] { return at(490ms, "d", 503, 900ms); });  // no more places
            group.spawn([&] { return at(500ms, "e", 503, 500ms); });  // and none is late yet
            group.spawn([&] { return at(511ms, "f", 503, 1950ms); });
            group.spawn([&] { return at(600ms, "g", 503, 1950ms); });
            group.spawn([&] { return at(900ms, "h", 200, 2000ms); });  // in place of the oldest
            group.spawn([&] { return at(1950ms, "i", 200, 3000ms); });
            co_return;
        };
        co_await with_task_group(all);
        co_await sleep_for(10s);
        EXPECT_EQ(co_await status_for(h, "::1", "z"), 200);
    });
    EXPECT_EQ(order, "ahiz");
    EXPECT_EQ(limit.refused(), 6u);
}

namespace {

/// A service of 4 requests at a time that take 20 to 60 ms each: 100 a second.
class busy_service {
public:
    explicit busy_service(http::in_flight_limit_options o) : limit_(o), served_(limit_(work())) {}

    struct figures {
        std::size_t served = 0;
        std::size_t refused = 0;
        double per_second = 0;  ///< served
        duration p99{};         ///< of those that were served
        duration slowest_refusal{};
    };

    /// So many requests a second, at random times, for a minute.
    figures under(double rate) {
        figures f;
        std::vector<duration> took;
        run_virtually([&]() -> task<> {
            const time_point begun = loop::current()->now();
            const auto all = [&](task_group& group) -> task<> {
                while (loop::current()->now() - begun < 60s) {
                    group.spawn([&] { return ask(&f, &took); });
                    std::exponential_distribution<double> seconds(rate);
                    const std::chrono::duration<double> gap(seconds(random_));
                    co_await sleep_for(std::chrono::round<duration>(gap));
                }
            };
            co_await with_task_group(all);
            const std::chrono::duration<double> whole = loop::current()->now() - begun;
            f.per_second = static_cast<double>(took.size()) / whole.count();
        });
        f.served = took.size();
        std::ranges::sort(took);
        f.p99 = took[took.size() * 99 / 100];
        return f;
    }

private:
    http::handler work() {
        return [this](http::request&) -> task<http::response> {
            std::uniform_int_distribution<int> ms(20, 60);
            co_await sleep_for(std::chrono::milliseconds(ms(random_)));
            co_return "reached";
        };
    }

    task<> ask(figures* f, std::vector<duration>* took) {
        const time_point begun = loop::current()->now();
        asked a("GET");
        co_await a.by(served_);
        const duration all = loop::current()->now() - begun;
        if (a.status() == 200) {
            took->push_back(all);
        } else {
            EXPECT_EQ(a.status(), 503);
            EXPECT_EQ(a.header("Retry-After"), "1");
            ++f->refused;
            f->slowest_refusal = std::max(f->slowest_refusal, all);
        }
    }

    std::mt19937 random_{19};
    http::in_flight_limit limit_;
    http::handler served_;
};

}  // namespace

TEST(in_flight_limit, keeps_goodput_and_latency_under_three_times_the_load) {
    http::in_flight_limit_options o;
    o.requests = 4;
    busy_service service(o);
    const auto unloaded = service.under(10);
    const auto best = service.under(100);
    const auto overload = service.under(300);
    RecordProperty("unloaded_p99_us", std::to_string(unloaded.p99 / 1us));
    RecordProperty("overload_p99_us", std::to_string(overload.p99 / 1us));
    RecordProperty("best_per_second", std::to_string(best.per_second));
    RecordProperty("overload_per_second", std::to_string(overload.per_second));
    EXPECT_EQ(unloaded.refused, 0u);
    EXPECT_GE(overload.per_second, 0.9 * best.per_second);
    EXPECT_GE(overload.per_second, 95);
    EXPECT_LT(overload.p99, 2 * unloaded.p99);
    // A refusal comes soon, too.
    EXPECT_LE(overload.slowest_refusal, o.shed_after + 100ms);
    EXPECT_GT(overload.refused, 11'000u);
}

TEST(in_flight_limit, takes_nothing_over_from_one_that_was_at_its_address) {
    run_virtually([&]() -> task<> {
        // Where memory is handed out again at once, all of them are at one address.
        for (const std::size_t most : {1u, 3u, 2u, 5u, 1u, 4u}) {
            http::in_flight_limit_options o;
            o.requests = most;
            o.waiting = 0;
            auto limit = std::make_unique<http::in_flight_limit>(o);
            const http::handler h = (*limit)(waiting());
            std::size_t served = 0;
            const auto all = [&](task_group& group) -> task<> {
                for (std::size_t i = 0; i != 8; ++i) {
                    group.spawn([&]() -> task<> {
                        const int status = co_await status_for(h, "::1");
                        served += status == 200 ? 1u : 0u;
                    });
                }
                co_return;
            };
            co_await with_task_group(all);
            EXPECT_EQ(served, most);
            EXPECT_EQ(limit->refused(), 8 - most);
        }
    });
}

TEST(in_flight_limit, gives_up_who_waits_too_long_and_whose_client_goes) {
    http::in_flight_limit_options o;
    o.requests = 1;
    o.waiting = 5;
    o.patience = 500ms;
    o.retry_after = 3s;
    const http::in_flight_limit limit(o);
    const http::handler h = limit(reached_after_a_second());
    run_virtually([&]() -> task<> {
        const auto all = [&](task_group& group) -> task<> {
            group.spawn([&]() -> task<> { EXPECT_EQ(co_await status_for(h, "::1"), 200); });
            group.spawn([&]() -> task<> {
                asked a("GET");
                co_await a.by(h);
                EXPECT_EQ(a.status(), 503);
                EXPECT_EQ(a.header("Retry-After"), "3");
            });
            group.spawn([&]() -> task<> {
                // One that is cancelled while it waits.
                const auto ask = [&h] { return status_for(h, "::1"); };
                auto limited = with_timeout(100ms, ask);
                const auto gone = co_await as_result(limited);
                EXPECT_FALSE(gone);
            });
            co_return;
        };
        co_await with_task_group(all);
        // And one while it is handled: its permit comes back.
        const auto ask = [&h] { return status_for(h, "::1"); };
        auto limited = with_timeout(100ms, ask);
        const auto cut = co_await as_result(limited);
        EXPECT_FALSE(cut);
        EXPECT_EQ(co_await status_for(h, "::1"), 200);
    });
    EXPECT_EQ(limit.refused(), 1u);
    EXPECT_EQ(refusal_of([] { http::in_flight_limit{{.requests = 0}}; }), "requests");
}

TEST(in_flight_limit, lasts_until_a_streamed_response_is_out) {
    http::in_flight_limit_options o;
    o.requests = 1;
    o.waiting = 0;
    const http::in_flight_limit limit(o);
    const http::handler streams = limit([](http::request&) -> task<http::response> {
        co_return http::stream([](http::body_writer&) -> task<> { co_return; });
    });
    const http::handler h = limit(plain());
    run_virtually([&]() -> task<> {
        {
            asked first("GET");
            co_await first.by(streams);
            EXPECT_EQ(co_await status_for(h, "::1"), 503);
            first.res = {};
            EXPECT_EQ(co_await status_for(h, "::1"), 503);
        }
        EXPECT_EQ(co_await status_for(h, "::1"), 200);
        asked second("GET");
        co_await second.by(h);
        EXPECT_EQ(co_await status_for(h, "::1"), 200);
    });
    EXPECT_EQ(limit.refused(), 2u);
}

TEST(in_flight_limit, has_its_places_to_wait_back) {
    http::in_flight_limit_options o;
    o.requests = 1;
    o.waiting = 1;
    const http::in_flight_limit limit(o);
    const http::handler h = limit(waiting());
    run_virtually([&]() -> task<> {
        for (int round = 0; round != 5; ++round) {
            const auto both = [&](task_group& group) -> task<> {
                for (int i = 0; i != 2; ++i) {
                    group.spawn(
                        [&]() -> task<> { EXPECT_EQ(co_await status_for(h, "192.0.2.1"), 200); });
                }
                co_return;
            };
            co_await with_task_group(both);
        }
    });
    EXPECT_EQ(limit.refused(), 0u);
}
