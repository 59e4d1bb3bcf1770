// Two servers on loops of their own that share sessions and a rate limit through Redis, with
// clients over real connections, while Redis is there, stopped, started again, and standing still.

#include "integration/redis/redis_world.hpp"

#include <coracle/http/client.hpp>
#include <coracle/http/middleware/sessions.hpp>
#include <coracle/redis/rate_limit_store.hpp>
#include <coracle/redis/session_store.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/testing/local_server.hpp>

#include <algorithm>
#include <memory>
#include <string>

namespace {

using namespace redis_world;

class redis_nodes : public redis_test {};

/// The patience of a node with Redis: where that stays, and where it is to go away.
constexpr duration patient = 20s;
constexpr duration impatient = 200ms;
/// A request waits for the store at most twice, each time for a command and for a connection, and
/// the machine may be busy.
constexpr duration longest_request(duration patience) {
    return 4 * patience + 10s;
}

enum class policy : std::uint8_t { open, closed };

std::shared_ptr<redis::client> client_of(const redis_server& server, duration patience) {
    redis::client_options o;
    o.first_delay = 5ms;
    o.longest_delay = 20ms;
    o.command_timeout = o.connect_timeout = patience;
    return std::make_shared<redis::client>(server.url(), o);
}

http::session_options sessions_over(const redis_server& server, policy p, duration patience) {
    http::session_options o;
    o.store = std::make_shared<redis::session_store>(client_of(server, patience));
    o.secure = false;
    if (p == policy::open) o.on_failure = http::store_failure::ignore;
    return o;
}

http::rate_limit_options limit_over(const redis_server& server, policy p, double requests,
                                    duration patience) {
    http::rate_limit_options o;
    o.requests = requests;
    o.per = 1h;
    o.store = std::make_shared<redis::rate_limit_store>(client_of(server, patience));
    if (p == policy::closed) o.on_failure = http::rate_limit_failure::refuse;
    return o;
}

/// A server with its own connections to Redis.
class node {
public:
    node(const redis_server& redis, policy p, double requests = 1e9, duration patience = patient)
        : limit(limit_over(redis, p, requests, patience)),
          server(routes(sessions_over(redis, p, patience))) {}

    http::rate_limit limit;
    coracle::testing::local_server server;

private:
    http::handler routes(http::session_options o) const {
        http::router users;
        users.post("/login", [](http::request& req) {
            http::session::of(req).log_in("ann");
            return "in";
        });
        users.post("/logout", [](http::request& req) {
            http::session::of(req).end();
            return "out";
        });
        users.get("/me", [](http::request& req) {
            return "user " + std::string(http::session::of(req).user());
        });
        const http::handler with_sessions = http::wrap(http::sessions(std::move(o)), users);
        http::router all;
        all.get("/limited", limit([](http::request&) { return http::response("served"); }));
        all.get("/me", with_sessions);
        all.post("/login", with_sessions);
        all.post("/logout", with_sessions);
        return all;
    }
};

struct outcome {
    int status = 0;  ///< 0: none in time
    std::string text;
    std::string cookie;
    std::string retry_after;
};

/// A browser that keeps nothing by itself.
class browser {
public:
    explicit browser(duration longest = longest_request(patient)) : longest_(longest) {}

    task<outcome> ask(const node* n, std::string_view method, std::string path,
                      std::string cookie = {}) {
        auto calling = client_.request(method, n->server.url(path));
        calling.timeout(longest_);
        if (!cookie.empty()) calling.header("Cookie", cookie);
        auto got = co_await as_result(calling);
        outcome o;
        if (!got) {
            o.text = got.error().message();
            co_return o;
        }
        o.status = static_cast<int>(got->status());
        auto reading = got->text();
        auto text = co_await as_result(reading);
        if (text) o.text = *std::move(text);
        const std::string line(got->header("Set-Cookie"));
        o.cookie = line.substr(0, line.find(';'));
        o.retry_after = std::string(got->header("Retry-After"));
        co_return o;
    }
    task<std::string> log_in(const node* n) {
        auto asking = ask(n, "POST", "/login");
        const outcome o = co_await std::move(asking);
        EXPECT_EQ(o.status, 200) << o.text;
        co_return o.cookie;
    }
    task<std::string> user_at(const node* n, std::string cookie) {
        auto asking = ask(n, "GET", "/me", std::move(cookie));
        const outcome o = co_await std::move(asking);
        co_return o.text;
    }
    /// Logs in at one until the other knows of it, as the store is there again for both.
    task<bool> serves_again(const node* one, const node* other) {
        const time_point end = loop::current()->now() + 10s;
        while (loop::current()->now() < end) {
            auto asking = ask(one, "POST", "/login");
            const outcome o = co_await std::move(asking);
            const std::string seen = co_await user_at(other, o.cookie);
            if (o.status == 200 && seen == "user ann") co_return true;
            co_await sleep_for(5ms);
        }
        co_return false;
    }

private:
    http::client client_;
    duration longest_;
};

struct phase {
    bool is_away = false;
    bool ended = false;
};

/// Requests without a pause to both paths of a node, while Redis comes and goes.
class load {
public:
    load(browser& from, const node& to, policy p, std::string cookie, const phase& now)
        : from_(from), to_(to), policy_(p), cookie_(std::move(cookie)), now_(now) {}

    task<> run(std::string path) {
        while (!now_.ended) {
            const bool begun_without = now_.is_away;
            auto asking = from_.ask(&to_, "GET", path, path == "/me" ? cookie_ : std::string());
            const outcome o = co_await std::move(asking);
            check(o, path, begun_without && now_.is_away);
        }
    }

    int with_store = 0;     ///< requests that the store served
    int without_store = 0;  ///< requests that began and ended while it was away

private:
    void check(const outcome& o, const std::string& path, bool was_away) {
        const bool is_refused = o.status == 503;
        ASSERT_TRUE(o.status == 200 || is_refused) << o.status << ' ' << o.text;
        if (is_refused) {
            EXPECT_EQ(policy_, policy::closed) << path;
            EXPECT_EQ(o.retry_after, "1");
        }
        if (was_away) {
            ++without_store;
            EXPECT_EQ(is_refused, policy_ == policy::closed) << path;
            if (!is_refused && path == "/me") {
                EXPECT_EQ(o.text, "user ");
            }
        } else if (!is_refused && o.text != "user ") {
            ++with_store;
        }
    }

    browser& from_;
    const node& to_;
    policy policy_;
    std::string cookie_;
    const phase& now_;
};

/// Two nodes, an open and a closed one, under requests. `away` makes Redis fail, `back` ends that.
template <class Away, class Back>
void check_outage(redis_server& redis, int requests, Away away, Back back) {
    const node open(redis, policy::open, 1e9, impatient);
    const node closed(redis, policy::closed, 1e9, impatient);
    phase now;
    block_on([&]() -> task<> {
        browser b(longest_request(impatient));
        EXPECT_TRUE(co_await b.serves_again(&open, &closed));
        const std::string cookie = co_await b.log_in(&open);
        load at_open(b, open, policy::open, cookie, now);
        load at_closed(b, closed, policy::closed, cookie, now);
        const auto all_served = [&](int load::* which, int n) {
            return at_open.*which >= n && at_closed.*which >= n;
        };
        const auto during = [&](task_group& g) -> task<> {
            for (load* l : {&at_open, &at_closed}) {
                g.spawn([l] { return l->run("/me"); });
                g.spawn([l] { return l->run("/limited"); });
            }
            const bool began =
                co_await eventually([&] { return all_served(&load::with_store, requests); });
            EXPECT_TRUE(began);
            auto going = away();
            co_await std::move(going);
            now.is_away = true;
            const bool held =
                co_await eventually([&] { return all_served(&load::without_store, requests); });
            EXPECT_TRUE(held) << at_open.without_store << ' ' << at_closed.without_store;
            now.is_away = false;
            at_open.with_store = at_closed.with_store = 0;
            auto coming = back();
            co_await std::move(coming);
            const bool works =
                co_await eventually([&] { return all_served(&load::with_store, requests); });
            EXPECT_TRUE(works) << at_open.with_store << ' ' << at_closed.with_store;
            now.ended = true;
        };
        co_await with_task_group(during);
        EXPECT_TRUE(co_await b.serves_again(&open, &closed));
    });
    EXPECT_GT(open.limit.store_failures(), 0U);
    EXPECT_GT(closed.limit.store_failures(), 0U);
    EXPECT_EQ(open.limit.refused() + closed.limit.refused(), 0U);
}

}  // namespace

TEST_F(redis_nodes, session_of_one_is_seen_and_ended_by_the_other) {
    redis_server redis;
    const node first(redis, policy::closed);
    const node second(redis, policy::closed);
    block_on([&]() -> task<> {
        browser b;
        const std::string cookie = co_await b.log_in(&first);
        EXPECT_TRUE(cookie.starts_with("session="));
        const std::string here = co_await b.user_at(&first, cookie);
        EXPECT_EQ(here, "user ann");
        const std::string there = co_await b.user_at(&second, cookie);
        EXPECT_EQ(there, "user ann");
        auto leaving = b.ask(&second, "POST", "/logout", cookie);
        const outcome left = co_await std::move(leaving);
        EXPECT_EQ(left.status, 200);
        // Whoever kept the cookie has nothing of it, on either node.
        const std::string gone_here = co_await b.user_at(&first, cookie);
        EXPECT_EQ(gone_here, "user ");
        const std::string gone_there = co_await b.user_at(&second, cookie);
        EXPECT_EQ(gone_there, "user ");
    });
}

TEST_F(redis_nodes, new_login_on_one_ends_the_old_id_on_the_other) {
    redis_server redis;
    const node first(redis, policy::closed);
    const node second(redis, policy::closed);
    block_on([&]() -> task<> {
        browser b;
        const std::string before = co_await b.log_in(&first);
        auto again = b.ask(&second, "POST", "/login", before);
        const outcome o = co_await std::move(again);
        EXPECT_NE(o.cookie, before);
        const std::string old_one = co_await b.user_at(&first, before);
        EXPECT_EQ(old_one, "user ");
        const std::string new_one = co_await b.user_at(&first, o.cookie);
        EXPECT_EQ(new_one, "user ann");
    });
}

TEST_F(redis_nodes, rate_limit_is_one_for_clients_of_both) {
    constexpr int allowed = 10;
    redis_server redis;
    const node first(redis, policy::closed, allowed);
    const node second(redis, policy::closed, allowed);
    int served = 0;
    int refused = 0;
    block_on([&]() -> task<> {
        browser b;
        const auto all = [&](task_group& g) -> task<> {
            for (int i = 0; i != 3 * allowed; ++i) {
                g.spawn([&, to = i % 2 == 0 ? &first : &second]() -> task<> {
                    auto asking = b.ask(to, "GET", "/limited");
                    const outcome o = co_await std::move(asking);
                    served += o.status == 200 ? 1 : 0;
                    refused += o.status == 429 ? 1 : 0;
                });
            }
            co_return;
        };
        co_await with_task_group(all);
    });
    EXPECT_EQ(served, allowed);
    EXPECT_EQ(refused, 2 * allowed);
    EXPECT_GT(first.limit.refused(), 0U);
    EXPECT_GT(second.limit.refused(), 0U);
    EXPECT_EQ(first.limit.refused() + second.limit.refused(), std::uint64_t{2 * allowed});
}

TEST_F(redis_nodes, hold_their_policy_while_redis_is_stopped_and_serve_once_it_is_back) {
    redis_server redis;
    const auto away = [&redis] { return stop(redis); };
    const auto back = [&redis] { return start(redis); };
    check_outage(redis, 100, away, back);
}

TEST_F(redis_nodes, hold_their_policy_while_redis_stands_still_and_nothing_hangs) {
    redis_server redis;
    const auto away = [&redis] { return freeze(redis); };
    const auto back = [&redis]() -> task<> {
        redis.thaw();
        co_return;
    };
    check_outage(redis, 20, away, back);
}
