// Two nodes that share a rate limit and sessions, and the policy that holds when Redis is away or
// stands still.

#include "integration/redis/redis_world.hpp"
#include "unit/http/middleware/asked.hpp"

#include <coracle/redis/rate_limit_store.hpp>
#include <coracle/redis/session_store.hpp>

#include <memory>
#include <string>
#include <vector>

namespace {

using namespace redis_world;
using middleware_test::asked;
using middleware_test::plain;

constexpr middleware_test::field_list no_fields;

class redis_stores : public redis_test {};

redis::client_options quick() {
    redis::client_options o;
    o.first_delay = 5ms;
    o.longest_delay = 20ms;
    return o;
}

http::rate_limit_options limit_of(const redis_server& server, double requests,
                                  const redis::client_options& how = quick()) {
    http::rate_limit_options o;
    o.requests = requests;
    o.per = 1h;
    o.store = std::make_shared<redis::rate_limit_store>(
        std::make_shared<redis::client>(server.url(), how));
    o.store_timeout = 20s;
    return o;
}

task<int> status_for(http::handler h, std::string from) {
    asked a("GET", no_fields, from);
    co_await a.by(h);
    co_return a.status();
}

}  // namespace

TEST_F(redis_stores, rate_limit_is_one_for_two_nodes) {
    redis_server server;
    block_on([&]() -> task<> {
        const http::rate_limit first(limit_of(server, 5));
        const http::rate_limit second(limit_of(server, 5));
        const http::handler a = first(plain());
        const http::handler b = second(plain());
        int served = 0;
        for (int i = 0; i < 4; ++i) {
            const int at_a = co_await status_for(a, "192.0.2.1");
            const int at_b = co_await status_for(b, "192.0.2.1");
            served += (at_a == 200 ? 1 : 0) + (at_b == 200 ? 1 : 0);
            EXPECT_TRUE(at_a == 200 || at_a == 429);
        }
        EXPECT_EQ(served, 5);
        EXPECT_EQ(first.refused() + second.refused(), 3U);
        const int other = co_await status_for(b, "192.0.2.2");
        EXPECT_EQ(other, 200);
        asked refused("GET", no_fields, "192.0.2.1");
        co_await refused.by(a);
        EXPECT_EQ(refused.status(), 429);
        // A token every 12 minutes.
        const int seconds = std::stoi(std::string(refused.header("Retry-After")));
        EXPECT_GT(seconds, 700);
        EXPECT_LE(seconds, 720);
        EXPECT_EQ(first.store_failures(), 0U);
    });
}

TEST_F(redis_stores, rate_limit_fills_and_is_forgotten_by_the_servers_clock) {
    redis_server server;
    block_on([&]() -> task<> {
        auto c = std::make_shared<redis::client>(server.url(), quick());
        redis::rate_limit_store store(c);
        const http::token_rate slow = {0.01, 2};  // a token in 100 s
        const std::string name(300, 'k');
        for (int i = 0; i < 2; ++i) {
            auto taken = co_await store.take(name, slow);
            EXPECT_EQ(taken.value(), 0ms);
        }
        auto third = co_await store.take(name, slow);
        EXPECT_GT(third.value(), 0ms);
        EXPECT_LE(third.value(), 100s);
        // The name of a client may be long; that of its key is not.
        auto keys = co_await ask(*c, "KEYS", "*");
        EXPECT_EQ(keys->elements().size(), 1U);
        if (keys->elements().empty()) co_return;
        EXPECT_LT(keys->elements()[0].text().size(), 100U);
        co_await c->command("FLUSHALL");
        // A token in 10 ms. On a busy machine some come meanwhile.
        const http::token_rate fast = {100, 2};
        duration wait{};
        for (int taken = 0; wait == 0ms; ++taken) {
            if (taken == 1000) throw std::runtime_error("it never has to wait");
            wait = (co_await store.take(name, fast)).value();
            EXPECT_TRUE(taken >= 2 || wait == 0ms);
        }
        EXPECT_LE(wait, 11ms);
        co_await sleep_for(wait + 2ms);
        auto next = co_await store.take(name, fast);
        EXPECT_EQ(next.value(), 0ms);
        // In the end there is no key.
        const bool gone = co_await is_emptied(server);
        EXPECT_TRUE(gone);
    });
}

TEST_F(redis_stores, rate_limit_holds_its_policy_while_redis_is_away_and_nothing_hangs) {
    redis_server server;
    block_on([&]() -> task<> {
        http::rate_limit_options open = limit_of(server, 3);
        http::rate_limit_options closed = limit_of(server, 3);
        closed.on_failure = http::rate_limit_failure::refuse;
        const http::rate_limit first(open);
        const http::rate_limit second(closed);
        const http::handler a = first(plain());
        const http::handler b = second(plain());
        EXPECT_EQ(co_await status_for(a, "192.0.2.1"), 200);
        EXPECT_EQ(co_await status_for(b, "192.0.2.1"), 200);
        co_await stop(server);
        const time_point begin = loop::current()->now();
        for (int i = 0; i < 50; ++i) {
            EXPECT_EQ(co_await status_for(a, "192.0.2.1"), 200);
            asked refused("GET", no_fields, "192.0.2.1");
            co_await refused.by(b);
            EXPECT_EQ(refused.status(), 503);
            EXPECT_EQ(refused.header("Retry-After"), "1");
        }
        EXPECT_LT(loop::current()->now() - begin, 10s);
        EXPECT_EQ(first.store_failures(), 50U);
        co_await start(server);
        int status = 0;
        const time_point end = loop::current()->now() + 10s;
        while (status != 200 && loop::current()->now() < end) {
            status = co_await status_for(b, "192.0.2.1");
            co_await sleep_for(5ms);
        }
        EXPECT_EQ(status, 200);
    });
}

TEST_F(redis_stores, rate_limit_waits_for_a_server_that_stands_still_as_long_as_it_says) {
    redis_server server;
    block_on([&]() -> task<> {
        redis::client_options how = quick();
        how.connect_timeout = 200ms;
        how.command_timeout = 200ms;
        http::rate_limit_options o = limit_of(server, 1, how);
        o.store_timeout = 20ms;
        auto c = std::make_shared<redis::client>(server.url(), how);
        EXPECT_TRUE(co_await until_it_serves(*c));
        o.store = std::make_shared<redis::rate_limit_store>(std::move(c));
        const http::rate_limit limit(o);
        const http::handler h = limit(plain());
        co_await freeze(server);
        const time_point begin = loop::current()->now();
        EXPECT_EQ(co_await status_for(h, "192.0.2.1"), 200);
        EXPECT_GE(loop::current()->now() - begin, 20ms);
        // Its client finds out, and then nothing waits any more.
        for (int i = 0; i < 20; ++i) EXPECT_EQ(co_await status_for(h, "192.0.2.1"), 200);
        EXPECT_LT(loop::current()->now() - begin, 8s);
        server.thaw();
    });
}

TEST_F(redis_stores, sessions_are_the_same_on_two_nodes) {
    redis_server server;
    block_on([&]() -> task<> {
        redis::session_store a(std::make_shared<redis::client>(server.url(), quick()));
        redis::session_store b(std::make_shared<redis::client>(server.url(), quick()));
        using http::session_save;
        const std::string data("a\0\r\nb", 5);
        auto none = co_await b.load("key", 10s);
        EXPECT_FALSE(none.value());
        auto replaced = co_await a.save("key", "x", 10s, session_save::replace);
        EXPECT_TRUE(replaced);
        none = co_await b.load("key", 10s);
        EXPECT_FALSE(none.value());
        auto created = co_await a.save("key", data, 10s, session_save::create);
        EXPECT_TRUE(created);
        auto loaded = co_await b.load("key", 1000s);
        EXPECT_EQ(loaded.value(), data);
        const std::vector<std::string> left{"TTL", "coracle:session:key"};
        EXPECT_GT(co_await number_of(server, left), 900);
        auto changed = co_await b.save("key", "", 10s, session_save::replace);
        EXPECT_TRUE(changed);
        loaded = co_await a.load("key", 10s);
        EXPECT_EQ(loaded.value(), "");
        auto removed = co_await a.remove("key");
        EXPECT_TRUE(removed.value());
        removed = co_await a.remove("key");
        EXPECT_FALSE(removed.value());
        loaded = co_await b.load("key", 10s);
        EXPECT_FALSE(loaded.value());
        // They end by themselves.
        auto brief = co_await a.save("brief", "x", 1s, session_save::create);
        EXPECT_TRUE(brief);
        const bool gone = co_await is_emptied(server);
        EXPECT_TRUE(gone);
        co_await stop(server);
        auto failed = co_await a.load("key", 10s);
        EXPECT_FALSE(failed);
    });
}
