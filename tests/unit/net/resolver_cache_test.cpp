#include "support/scripted_network.hpp"

#include <coracle/net/resolver.hpp>
#include <coracle/runtime/when_all.hpp>

#include <gtest/gtest.h>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::run_scripted;
using coracle::testing::scripted_network;
using net::resolve_errc;

namespace {

/// Gives true if the first IPv4 address of `host` is found.
task<bool> has(net::resolver& r, std::string host) {
    auto found = co_await as_result(r.resolve(host, 1, net::family::v4));
    co_return found.has_value();
}

}  // namespace

TEST(resolver_cache, keeps_a_response_for_its_ttl) {
    run_scripted([](scripted_network& n) -> task<> {
        net::resolver r(*loop::current());
        n.v4("boats").addresses.push_back("192.0.2.1");
        n.v4("boats").ttl = 30s;
        EXPECT_TRUE(co_await has(r, "boats"));
        co_await sleep_for(29'999ms);
        EXPECT_TRUE(co_await has(r, "Boats"));
        EXPECT_EQ(n.log().size(), 1u);
        co_await sleep_for(1ms);
        EXPECT_TRUE(co_await has(r, "boats"));
        EXPECT_EQ(n.log().size(), 2u);
    });
}

TEST(resolver_cache, keeps_no_response_longer_than_its_own_bound) {
    run_scripted([](scripted_network& n) -> task<> {
        net::resolver_options o;
        o.longest_ttl = 10s;
        net::resolver r(*loop::current(), o);
        n.v4("boats").addresses.push_back("192.0.2.1");
        EXPECT_TRUE(co_await has(r, "boats"));
        co_await sleep_for(11s);
        EXPECT_TRUE(co_await has(r, "boats"));
        EXPECT_EQ(n.log().size(), 2u);
    });
}

TEST(resolver_cache, keeps_it_that_a_host_does_not_exist) {
    run_scripted([](scripted_network& n) -> task<> {
        net::resolver_options o;
        o.longest_negative_ttl = 20s;
        net::resolver r(*loop::current(), o);
        EXPECT_FALSE(co_await has(r, "boats"));
        co_await sleep_for(19s);
        EXPECT_FALSE(co_await has(r, "boats"));
        EXPECT_EQ(n.log().size(), 1u);
        co_await sleep_for(1s);
        EXPECT_FALSE(co_await has(r, "boats"));
        EXPECT_EQ(n.log().size(), 2u);
    });
}

TEST(resolver_cache, keeps_neither_failures_nor_responses_without_a_ttl) {
    run_scripted([](scripted_network& n) -> task<> {
        net::resolver r(*loop::current());
        n.v4("broken").result = -EIO;
        n.v4("fleeting").addresses.push_back("192.0.2.1");
        n.v4("fleeting").ttl = 0s;
        for (int i = 0; i != 2; ++i) {
            EXPECT_FALSE(co_await has(r, "broken"));
            EXPECT_TRUE(co_await has(r, "fleeting"));
        }
        EXPECT_EQ(n.log().size(), 4u);
        EXPECT_EQ(r.counters().cached, 0u);
    });
}

TEST(resolver_cache, drops_what_was_not_used_for_longest) {
    run_scripted([](scripted_network& n) -> task<> {
        net::resolver_options o;
        o.cache = 2;
        net::resolver r(*loop::current(), o);
        for (const char* name : {"a", "b", "c"}) n.v4(name).addresses.push_back("192.0.2.1");
        EXPECT_TRUE(co_await has(r, "a"));
        EXPECT_TRUE(co_await has(r, "b"));
        EXPECT_TRUE(co_await has(r, "a"));
        EXPECT_TRUE(co_await has(r, "c"));
        EXPECT_EQ(r.counters().cached, 2u);
        EXPECT_TRUE(co_await has(r, "a"));
        EXPECT_EQ(n.log().size(), 3u);
        EXPECT_TRUE(co_await has(r, "b"));
        EXPECT_EQ(n.log().size(), 4u);
    });
}

TEST(resolver_cache, may_hold_nothing) {
    run_scripted([](scripted_network& n) -> task<> {
        net::resolver_options o;
        o.cache = 0;
        net::resolver r(*loop::current(), o);
        n.v4("a").addresses.push_back("192.0.2.1");
        EXPECT_TRUE(co_await has(r, "a"));
        EXPECT_TRUE(co_await has(r, "a"));
        EXPECT_EQ(n.log().size(), 2u);
    });
}

TEST(resolver_cache, asks_once_for_those_who_ask_meanwhile) {
    run_scripted([](scripted_network& n) -> task<> {
        net::resolver r(*loop::current());
        n.v4("boats").addresses.push_back("192.0.2.1");
        n.v4("boats").after = 1s;
        auto [a, b, c] = co_await when_all(has(r, "boats"), has(r, "boats"), has(r, "BOATS"));
        EXPECT_TRUE(a && b && c);
        EXPECT_EQ(n.log().size(), 1u);
        EXPECT_EQ(r.counters().shared, 2u);
    });
}

TEST(resolver_cache, tells_a_name_of_one_label_from_the_same_with_a_dot) {
    run_scripted([](scripted_network& n) -> task<> {
        net::resolver r(*loop::current());
        n.v4("boats").addresses.push_back("192.0.2.1");
        EXPECT_TRUE(co_await has(r, "boats"));
        EXPECT_TRUE(co_await has(r, "boats."));
        EXPECT_EQ(n.log_text(), "0 ask boats v4\n0 ask boats v4\n");
    });
}
