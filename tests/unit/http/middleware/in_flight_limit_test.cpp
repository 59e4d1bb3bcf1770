// Middleware that bounds how many at a time.

#include "unit/http/middleware/asked.hpp"

#include <coracle/http/middleware/in_flight_limit.hpp>
#include <coracle/http/request.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

using namespace middleware_test;

namespace {

http::handler reached_after_a_second() {
    return [](http::request&) -> task<http::response> {
        co_await sleep_for(1s);
        co_return "reached";
    };
}

}  // namespace

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
