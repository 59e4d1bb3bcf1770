#include "bench/figures/schedule.hpp"
#include "bench/worker.hpp"
#include "support/virtual_time.hpp"

#include <coracle/runtime/sleep.hpp>

#include <gtest/gtest.h>

#include <memory>

namespace coracle::tool::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(bench_schedule, requests_are_due_at_a_constant_rate_whoever_takes_them_when) {
    const time_point begin{seconds(100)};
    schedule s({.rate = 1000, .begin = begin, .end = begin + seconds(1), .requests = ~0ULL});
    EXPECT_EQ(*s.take(begin), begin);
    EXPECT_EQ(*s.take(begin), begin + milliseconds(1));
    // It is late, and is given what was due long ago.
    EXPECT_EQ(*s.take(begin + milliseconds(500)), begin + milliseconds(2));
    EXPECT_EQ(s.overdue(begin + milliseconds(10)), 7U);
    EXPECT_EQ(s.overdue(begin + seconds(9)), 997U);
    EXPECT_FALSE(s.take(begin + seconds(1)));
}

TEST(bench_schedule, keeps_no_backlog_of_the_warm_up) {
    const time_point begin{seconds(100)};
    const time_point from = begin + seconds(3);
    schedule s({.rate = 4, .begin = begin, .end = begin + seconds(5), .counted_from = from});
    EXPECT_EQ(*s.take(begin + seconds(2)), begin);
    EXPECT_EQ(*s.take(from), from);
    EXPECT_EQ(*s.take(from + seconds(1)), from + milliseconds(250)) << "one that counts is late";
    EXPECT_EQ(s.overdue(from + seconds(1)), 2U);
}

TEST(bench_schedule, has_nothing_overdue_of_the_warm_up) {
    const time_point begin{seconds(100)};
    const time_point from = begin + seconds(3);
    schedule s({.rate = 4,
                .begin = begin,
                .end = begin + seconds(9),
                .requests = 6,
                .counted_from = from});
    EXPECT_TRUE(s.take(begin));
    EXPECT_EQ(s.overdue(from), 0U);
    EXPECT_EQ(s.overdue(from + seconds(1)), 4U);
    EXPECT_EQ(s.overdue(begin + seconds(9)), 6U);
    EXPECT_EQ(s.due_of(s.first_overdue()), from);
}

TEST(bench_schedule, does_not_drift_in_a_week) {
    const time_point begin{seconds(5)};
    schedule s({.rate = 3, .begin = begin});
    const std::uint64_t n = std::uint64_t{3} * 7 * 24 * 3600;
    EXPECT_EQ(s.due_of(n), begin + std::chrono::hours(7 * 24));
}

TEST(bench_schedule, a_number_of_requests_is_an_end_too) {
    const time_point now{seconds(1)};
    schedule s({.begin = now, .requests = 2, .counted_from = now});
    EXPECT_EQ(*s.take(now - seconds(1)), now - seconds(1));  // before what counts
    EXPECT_TRUE(s.take(now));
    EXPECT_TRUE(s.take(now));
    EXPECT_FALSE(s.take(now));
    EXPECT_EQ(s.taken(), 3U);
    EXPECT_EQ(s.overdue(now + seconds(1)), 0U);
}

/// A server that takes a millisecond for each request, and stands still for a while.
struct simulated_server {
    time_point still_from = time_point::max();
    time_point still_until{};

    time_point responds(time_point asked) const {
        const time_point usual = asked + milliseconds(1);
        const bool still = usual >= still_from && usual < still_until;
        return still ? still_until : usual;
    }
};

class simulated_lane final : public lane {
public:
    simulated_lane(worker& w, std::size_t index, const simulated_server& server)
        : lane(w, index), server_(server) {}

private:
    task<> session() override {
        ++owner().figures().connections;
        co_await enter();
        for (;;) {
            const auto due = take();
            if (!due) co_return;
            if (is_early(*due)) co_await sleep_until(*due);
            begin(*due);
            auto waiting = sleep_until(server_.responds(owner().now()));
            auto responded = co_await as_result(waiting);
            if (!responded) {
                fail(responded.error());
                co_return;
            }
            finish(200);
        }
    }

    const simulated_server& server_;
};

struct simulated_run {
    load_plan plan;
    simulated_server server;
    std::unique_ptr<counts> total = std::make_unique<counts>();
    std::size_t intervals = 0;
    time_point begin;

    void run() {
        plan.what.origin = *url::parse("http://127.0.0.1/");
        plan.what.requests.emplace_back();
        testing::run_virtually([&]() -> task<> {
            loop& l = *loop::current();
            begin = l.now() + seconds(1);
            if (server.still_from != time_point::max()) {
                server.still_from += begin - time_point();
                server.still_until += begin - time_point();
            }
            const target to(plan);
            const auto shared = std::make_unique<shared_run>(plan, milliseconds(100));
            schedule_limits limits;
            limits.rate = plan.rate;
            if (plan.requests != 0) limits.requests = plan.requests;
            const auto w = std::make_unique<worker>(*shared, to, l, limits);
            for (unsigned i = 0; i != plan.connections; ++i) {
                w->add_lane(std::make_unique<simulated_lane>(*w, i, server));
            }
            measured_span span{begin, begin + plan.warm_up, begin + plan.warm_up + plan.length};
            if (plan.requests != 0) span.end = time_point::max();
            w->go(span);
            co_await w->work(l.now(), duration::zero());
            shared->look([&](const counts& all, const timeline& line) {
                total->merge(all);
                intervals = line.intervals().size();
            });
        });
    }
};

std::uint64_t ms(std::uint64_t nanoseconds) {
    return (nanoseconds + 500'000) / 1'000'000;
}

TEST(bench_open_model, every_request_of_a_quick_server_is_sent_on_time) {
    simulated_run r;
    r.plan.rate = 1000;
    r.plan.connections = 10;
    r.plan.length = seconds(10);
    r.run();
    EXPECT_EQ(r.total->responses(), 10'000U);
    EXPECT_EQ(r.total->unsent, 0U);
    EXPECT_EQ(ms(r.total->latency.max()), 1U);
    EXPECT_EQ(r.total->lateness.max(), 0U);
}

TEST(bench_open_model, a_server_that_stands_still_for_a_second_shows_a_second) {
    simulated_run r;
    r.plan.rate = 1000;
    r.plan.connections = 10;
    r.plan.length = seconds(10);
    r.server.still_from = time_point(seconds(5));
    r.server.still_until = time_point(seconds(6));
    r.run();
    EXPECT_EQ(r.total->responses() + r.total->unsent, 10'000U);
    EXPECT_EQ(r.total->unsent, 0U);
    // A tenth of all requests was due while it stood still, and those waited for half of a second
    // on average, up to a whole one.
    EXPECT_NEAR(static_cast<double>(ms(r.total->latency.max())), 1000, 1);
    EXPECT_GT(ms(r.total->latency.percentile(0.95)), 450U);
    EXPECT_EQ(ms(r.total->latency.percentile(0.85)), 1U);
}

TEST(bench_closed_model, hides_what_the_open_one_shows) {
    simulated_run r;
    r.plan.connections = 1;
    r.plan.length = seconds(10);
    r.server.still_from = time_point(seconds(5));
    r.server.still_until = time_point(seconds(6));
    r.run();
    // One request waited: that is coordinated omission.
    EXPECT_NEAR(static_cast<double>(r.total->responses()), 9000, 2);
    EXPECT_NEAR(static_cast<double>(ms(r.total->latency.max())), 1000, 1);
    EXPECT_EQ(ms(r.total->latency.percentile(0.999)), 1U);
}

TEST(bench_open_model, requests_that_are_never_sent_count_with_the_time_they_waited) {
    simulated_run r;
    r.plan.rate = 1000;
    r.plan.connections = 1;
    r.plan.length = seconds(10);
    r.plan.timeout = seconds(2);
    r.server.still_from = time_point(seconds(5));
    r.server.still_until = time_point(seconds(3600));
    r.run();
    // It does not come back: every two seconds one request times out.
    EXPECT_EQ(r.total->failed(failure_kind::timeout), 3U);
    EXPECT_EQ(r.total->responses() + r.total->failed() + r.total->unsent, 10'000U);
    EXPECT_GT(r.total->unsent, 4900U);
    EXPECT_GT(ms(r.total->latency.percentile(0.99)), 4500U);
}

TEST(bench_open_model, what_is_due_while_it_warms_up_does_not_count) {
    simulated_run r;
    r.plan.rate = 500;
    r.plan.connections = 4;
    r.plan.warm_up = seconds(2);
    r.plan.length = seconds(4);
    r.server.still_from = time_point(milliseconds(100));
    r.server.still_until = time_point(milliseconds(900));
    r.run();
    EXPECT_EQ(r.total->responses(), 2000U);
    EXPECT_EQ(ms(r.total->latency.max()), 1U);
}

TEST(bench_closed_model, makes_as_many_requests_as_were_wanted) {
    simulated_run r;
    r.plan.connections = 7;
    r.plan.requests = 1000;
    r.run();
    EXPECT_EQ(r.total->responses(), 1000U);
    EXPECT_EQ(r.total->connections, 7U);
}

TEST(bench_closed_model, each_connection_has_one_request_at_a_time) {
    simulated_run r;
    r.plan.connections = 5;
    r.plan.length = seconds(1);
    r.run();
    EXPECT_NEAR(static_cast<double>(r.total->responses()), 5000, 10);
    EXPECT_GE(r.intervals, 10U);
}

TEST(bench_timeouts, a_request_without_a_response_fails_in_time_and_the_lane_goes_on) {
    simulated_run r;
    r.plan.connections = 1;
    r.plan.length = seconds(10);
    r.plan.timeout = seconds(1);
    r.server.still_from = time_point(seconds(5));
    r.server.still_until = time_point(seconds(7));
    r.run();
    const std::uint64_t timeouts = r.total->failed(failure_kind::timeout);
    EXPECT_GE(timeouts, 1U);
    EXPECT_LE(timeouts, 2U);
    EXPECT_GT(r.total->responses(), 7000U);
    EXPECT_EQ(r.total->connections, 1 + timeouts);
    // It was noticed within a part of the limit, and counts with the time that it took.
    EXPECT_GE(ms(r.total->latency.max()), 1000U);
    EXPECT_LE(ms(r.total->latency.max()), 1300U);
}

}  // namespace
}  // namespace coracle::tool::bench
