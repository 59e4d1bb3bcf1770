// The parts of the dashboard below its page.

#include "http/dashboard/latency_counts.hpp"
#include "http/dashboard/message_list.hpp"
#include "support/allocation_count.hpp"
#include "unit/http/middleware/asked.hpp"
#include "unit/http/router/asking.hpp"

#include <coracle/http/dashboard.hpp>
#include <coracle/http/loop_metrics.hpp>

using namespace middleware_test;
using coracle::http::detail::latency_counts;
using coracle::http::detail::message_list;
using coracle::http::detail::quantile_ms;

TEST(latency_counts, have_buckets_that_grow_and_leave_no_gap) {
    std::size_t last = 0;
    for (std::int64_t us = 0; us != 100'000; ++us) {
        const std::size_t i = latency_counts::index_of(std::chrono::microseconds(us));
        EXPECT_TRUE(i == last || i == last + 1) << us;
        last = i;
        EXPECT_LE(latency_counts::microseconds(i), static_cast<double>(us));
        EXPECT_GT(latency_counts::microseconds(i + 1), static_cast<double>(us));
    }
    EXPECT_EQ(latency_counts::index_of(1h), latency_counts::size - 1);
    EXPECT_EQ(latency_counts::index_of(-1s), 0u);
}

TEST(latency_counts, tell_quantiles) {
    latency_counts counts;
    latency_counts::snapshot sum{};
    EXPECT_LT(quantile_ms(sum, 0.5), 0);
    for (int ms = 1; ms <= 1000; ++ms) counts.add(std::chrono::milliseconds(ms));
    counts.add_to(sum);
    EXPECT_NEAR(quantile_ms(sum, 0.5), 500, 45);
    EXPECT_NEAR(quantile_ms(sum, 0.99), 990, 90);
    EXPECT_NEAR(quantile_ms(sum, 1), 1000, 90);
}

TEST(message_list, counts_equal_ones_and_forgets_the_oldest) {
    message_list all(2);
    all.add(log_level::error, "127.0.0.1:1000 a fault");
    all.add(log_level::error, "[::1]:1001 a fault");
    all.add(log_level::warning, "12:30 o'clock");  // no address, and yet left out
    ASSERT_EQ(all.all().size(), 2u);
    EXPECT_EQ(all.all()[1].text, "a fault");
    EXPECT_EQ(all.all()[1].count, 2u);
    all.add(log_level::error, "a fault");
    EXPECT_EQ(all.all()[0].count, 3u);
    all.add(log_level::error, std::string(1000, 'x'));
    ASSERT_EQ(all.all().size(), 2u);
    EXPECT_EQ(all.all()[0].text.size(), 400u);
    EXPECT_EQ(all.all()[1].text, "a fault");
}

TEST(dashboard, is_where_it_was_put_whatever_is_around_it) {
    http::dashboard_options o;
    o.loopback_only = false;
    http::dashboard seen(o);
    for (const char* path : {"/dash", "/dash/", "/", ""}) {
        http::router routes;
        routes.group("/admin", [&](http::router& g) { seen.add_to(g, path); });
        const std::string at = std::string(path).starts_with("/dash") ? "/admin/dash" : "/admin";
        const coracle::testing::outcome page = coracle::testing::ask(routes, "GET", at);
        EXPECT_EQ(page.status, 200) << path;
        EXPECT_NE(page.body.find("const path = location.pathname"), std::string::npos) << path;
        for (const char* part : {"/events", "/tasks"}) {
            EXPECT_EQ(coracle::testing::ask(routes, "GET", at + part).status, 200) << path << part;
        }
    }
}

TEST(loop_metrics, with_options_that_are_wrong_leave_nothing_behind) {
    metrics::registry all;
    EXPECT_THROW(http::loop_metrics(all, {.interval = {}}), coracle::exception);
    EXPECT_THROW(http::loop_metrics(all, {.stall = {}}), coracle::exception);
    const http::loop_metrics loops(all);
    EXPECT_NE(all.text().find("coracle_loop_stalls_total 0"), std::string::npos);
}

TEST(dashboard, allocates_nothing_for_a_response_of_a_route_that_it_knows) {
    if (!coracle::testing::counts_allocations()) {
        GTEST_SKIP() << "allocations are not counted in this build";
    }
    http::dashboard seen;
    metrics::registry all;
    http::loop_metrics loops(all);
    run_virtually([&]() -> task<> {
        asked a("GET");
        const http::access_record record{a.req.peer(), a.req, http::status::ok, 7, 1ms, 0};
        seen.observe(record);
        loops.observe(record);
        const auto before = coracle::testing::allocations();
        for (int i = 0; i != 100; ++i) {
            seen.observe(record);
            loops.observe(record);
        }
        EXPECT_EQ(coracle::testing::allocations() - before, 0u);
        co_return;
    });
}
