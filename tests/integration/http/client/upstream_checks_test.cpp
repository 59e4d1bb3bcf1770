// The checks of `upstreams`, which take nodes out and bring them back.

#include "support/allocation_count.hpp"

#include <coracle/http/client.hpp>
#include <coracle/http/upstreams.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/local_server.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;

/// Counts the requests, and refuses each.
http::handler never_ready(std::atomic<int>& asked) {
    return [&asked](http::request&) {
        ++asked;
        return http::response(http::status::service_unavailable);
    };
}

TEST(checked_upstreams, are_ill_where_they_redirect) {
    const local_server behind([](http::request& req) -> http::response {
        if (req.path() == "/readyz") return http::redirect("/ok", http::status::found);
        return "ok";
    });
    http::client_options follows;
    follows.follow = http::follow::standard;
    http::client client(follows);
    http::upstream_options o;
    o.ill_after = 1;
    http::upstreams nodes(client, {behind.url("")}, o);
    block_on([&]() -> task<> {
        const auto until_ill = [&]() -> task<> {
            while (nodes.states()[0].is_well) co_await sleep_for(1ms);
        };
        co_await with_timeout(10s, when_any(nodes.check(), until_ill()));
    });
    EXPECT_FALSE(nodes.states()[0].is_well);
}

TEST(checked_upstreams, are_never_ill_where_nothing_makes_them) {
    std::atomic<int> asked = 0;
    const local_server behind(never_ready(asked));
    http::client client;
    http::upstream_options o;
    o.health_interval = duration::zero();
    o.ill_after = 0;
    http::upstreams nodes(client, {behind.url("")}, o);
    block_on([&]() -> task<> {
        const auto until_asked = [&]() -> task<> {
            while (asked < 3) co_await sleep_for(1ms);
        };
        co_await with_timeout(10s, when_any(nodes.check(), until_asked()));
    });
    EXPECT_TRUE(nodes.states()[0].is_well);
}

TEST(checked_upstreams, are_checked_on_when_an_interceptor_throws) {
    std::atomic<bool> is_ready = false;
    const local_server behind([&is_ready](http::request&) {
        return http::response(is_ready ? http::status::ok : http::status::service_unavailable);
    });
    std::atomic<bool> throws = false;
    http::client client;
    client.use([&throws](http::request& req, const http::handler& next) {
        if (throws.exchange(false)) throw std::runtime_error("by intent");
        return next(req);
    });
    http::upstream_options o;
    o.health_interval = 10ms;
    o.ill_after = 1;
    http::upstreams nodes(client, {behind.url("")}, o);
    block_on([&]() -> task<> {
        const auto look = [&]() -> task<> {
            while (nodes.states()[0].is_well) co_await sleep_for(1ms);
            throws = true;
            while (throws) co_await sleep_for(1ms);
            is_ready = true;
            while (!nodes.states()[0].is_well) co_await sleep_for(1ms);
        };
        co_await with_timeout(10s, when_any(nodes.check(), look()));
    });
    EXPECT_TRUE(nodes.states()[0].is_well);
}

TEST(checked_upstreams, are_checked_on_wherever_memory_fails) {
    if (!counts_allocations()) GTEST_SKIP() << "no allocation fails in this build";
    std::atomic<int> asked = 0;
    const local_server behind(never_ready(asked));
    http::client client;
    http::upstream_options o;
    o.health_interval = 1ms;
    o.ill_after = 1;
    bool failed = true;
    for (std::size_t n = 1; failed && !::testing::Test::HasFailure(); ++n) {
        SCOPED_TRACE("allocation " + std::to_string(n));
        http::upstreams nodes(client, {behind.url("")}, o);
        block_on([&]() -> task<> {
            const auto go_on = [&]() -> task<> {
                co_await sleep_for(1ms);
                fail_allocation(n);
                const int before = asked;
                while (asked < before + 3) co_await sleep_for(1ms);
                failed = !allocation_will_fail();
                fail_allocation(0);
            };
            co_await with_timeout(10s, when_any(nodes.check(), go_on()));
        });
        EXPECT_FALSE(nodes.states()[0].is_well);
    }
}

}  // namespace
}  // namespace coracle::testing
