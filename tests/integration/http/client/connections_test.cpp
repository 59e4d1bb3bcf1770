// The connections of a client, its retries, and the ways to call it.

#include "support/client_calls.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/http/curlev.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>
#include <coracle/testing/simulation.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(client_connections, are_used_again_and_counted) {
    const local_server server(path_of);
    http::client client;
    for (int i = 0; i != 10; ++i) {
        EXPECT_EQ(client.get(server.url("/x")).wait().info.reused, i != 0);
    }
    const auto s = client.statistics();
    EXPECT_EQ(s.calls, 10U);
    EXPECT_EQ(s.opened, 1U);
    EXPECT_EQ(s.reused, 9U);
    EXPECT_EQ(s.connections, 1U);
    EXPECT_EQ(s.idle, 1U);
    EXPECT_EQ(server.counters().connections, 1U);
}

TEST(client_connections, keep_to_their_number_and_serve_in_order) {
    std::mutex guard;
    std::vector<std::string> order;
    const local_server server([&](http::request& req) {
        const std::lock_guard lock(guard);
        order.emplace_back(req.path());
        return path_of(req);
    });
    http::pool_options p;
    p.connections_per_host = 1;
    http::client client({}, p);
    std::vector<background_call> calls;
    std::vector<std::string> expected;
    std::atomic<int> good = 0;
    for (int i = 0; i != 20; ++i) {
        const std::string path = "/" + std::to_string(i);
        expected.push_back(path);
        calls.push_back(client.get(server.url(path)).start([&, path](auto r) {
            if (r && r->body == path) ++good;
        }));
    }
    for (const auto& c : calls) c.wait();
    EXPECT_EQ(good, 20);
    {
        const std::lock_guard lock(guard);
        EXPECT_EQ(order, expected);
    }
    EXPECT_EQ(client.statistics().opened, 1U);
    EXPECT_EQ(client.statistics().waiting, 0U);
}

TEST(client_connections, that_have_waited_longest_are_closed_first) {
    std::vector<std::unique_ptr<local_server>> servers;
    for (int i = 0; i != 6; ++i) servers.push_back(std::make_unique<local_server>(path_of));
    http::pool_options p;
    p.connections = 4;
    http::client client({}, p);
    const auto reuses = [&](std::size_t i) {
        return client.get(servers[i]->url()).wait().info.reused;
    };
    for (std::size_t i = 0; i != 4; ++i) EXPECT_FALSE(reuses(i));
    EXPECT_TRUE(reuses(0));
    EXPECT_FALSE(reuses(4));  // in place of 1
    EXPECT_FALSE(reuses(5));  // in place of 2
    for (const std::size_t i : {3U, 0U, 4U, 5U}) EXPECT_TRUE(reuses(i)) << i;
    EXPECT_FALSE(reuses(1));
    EXPECT_EQ(client.statistics().idle, 4U);
}

TEST(client_connections, that_are_idle_make_room_for_other_origins) {
    const local_server one(path_of);
    const local_server two(path_of);
    http::pool_options p;
    p.connections = 1;
    http::client client({}, p);
    for (int i = 0; i != 3; ++i) {
        EXPECT_EQ(client.get(one.url("/1")).wait().body, "/1");
        EXPECT_EQ(client.get(two.url("/2")).wait().body, "/2");
        EXPECT_EQ(client.statistics().connections, 1U);
    }
}

TEST(client_connections, that_the_server_closes_are_dropped) {
    const scripted_peer peer(script().read_head().respond("x"));
    http::client client;
    for (int i = 0; i != 3; ++i) EXPECT_EQ(client.get(peer.url()).wait().body, "x");
    while (client.statistics().connections != 0) std::this_thread::yield();
    const scripted_peer refusing(script().read_head().respond("x", "Connection: close\r\n"));
    EXPECT_EQ(client.get(refusing.url()).wait().body, "x");
    EXPECT_EQ(client.statistics().connections, 0U);
}

TEST(client_connections, to_a_proxy_that_forwards_are_shared_by_all_origins) {
    const scripted_peer proxy(script().read_head().respond("x").again());
    http::client_options o;
    o.proxy = proxy.url();
    o.no_proxy = "127.0.0.1";
    http::client client(o);
    for (const char* to : {"http://a.test/", "http://b.test/", "http://a.test:81/"}) {
        EXPECT_EQ(client.get(to).wait().body, "x");
    }
    EXPECT_EQ(client.statistics().opened, 1U);
    EXPECT_EQ(client.statistics().idle, 1U);
    EXPECT_THAT(proxy.record().received,
                ::testing::AllOf(HasSubstr("GET http://a.test/ "), HasSubstr("GET http://b.test/ "),
                                 HasSubstr("Host: a.test:81\r\n")));
    // Calls that bypass it have connections of their own.
    const local_server server(path_of);
    EXPECT_EQ(client.get(server.url("/y")).wait().body, "/y");
    EXPECT_EQ(client.statistics().opened, 2U);
}

TEST(client_connections, that_were_stale_are_replaced_once_but_never_for_post) {
    const auto stale = [] { return script().read_head().respond("first").read_head().cut(); };
    const auto fresh = [] { return script().read_head().respond("second").read_to_end(); };
    http::client client;
    const scripted_peer peer({stale(), fresh()});
    EXPECT_EQ(client.get(peer.url()).wait().body, "first");
    const auto r = client.get(peer.url()).wait();
    EXPECT_EQ(r.body, "second");
    EXPECT_EQ(r.info.attempts, 2U);
    const scripted_peer other({stale(), fresh()});
    EXPECT_EQ(client.get(other.url()).wait().body, "first");
    const error e = failure_of(client.post(other.url()).body("x"));
    EXPECT_TRUE(e == errc::end_of_stream || e == std::errc::connection_reset) << e;
    EXPECT_FALSE(e.safe_to_retry());
    EXPECT_EQ(other.connections(), 1U);
    // A fresh connection that ends like that is no stale one.
    const scripted_peer never(script().read_head().cut());
    EXPECT_TRUE(failure_of(client.get(never.url())).code());
    EXPECT_EQ(never.connections(), 1U);
}

TEST(client_retries, come_where_the_server_says_so_and_stop_at_their_number) {
    const std::string busy =
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n";
    const scripted_peer peer({script().read_head().send(busy).close(),
                              script().read_head().send(busy).close(),
                              script().read_head().respond("good")});
    http::client client;
    const auto r = client.post(peer.url()).body("x").retry(2, 1ms).wait();
    EXPECT_EQ(r.body, "good");
    EXPECT_EQ(r.info.attempts, 3U);
    EXPECT_EQ(client.statistics().retries, 2U);
    const scripted_peer always(script().read_head().send(busy).again());
    const auto last = client.get(always.url()).retry(3, 1ms).wait();
    EXPECT_EQ(last.status, http::status::service_unavailable);
    EXPECT_EQ(last.info.attempts, 4U);
}

TEST(client_retries, come_after_503_where_that_is_safe) {
    const scripted_peer busy(
        script()
            .read_head()
            .send("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
            .again());
    http::client client;
    EXPECT_EQ(client.post(busy.url()).retry(1, 1ms).wait().info.attempts, 1U);
    EXPECT_EQ(client.put(busy.url()).retry(1, 1ms).wait().info.attempts, 2U);
    http::client_options o;
    o.retry.not_idempotent = true;
    EXPECT_EQ(client.post(busy.url()).options(o).retry(1, 1ms).wait().info.attempts, 2U);
}

TEST(client_retries, do_not_wait_longer_than_they_may) {
    const scripted_peer peer(
        script()
            .read_head()
            .send(
                "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n")
            .again());
    http::client client;
    const auto r = client.get(peer.url()).retry(2).wait();
    EXPECT_EQ(r.status, http::status::too_many_requests);
    EXPECT_EQ(r.info.attempts, 1U);
}

TEST(client_retries, may_have_a_budget_without_an_end) {
    const scripted_peer peer(script().read_head().cut());
    http::client_options o;
    o.retry.retries = 10;
    o.retry.delay = 1us;
    o.retry.budget_percent = std::numeric_limits<unsigned>::max();
    http::client client(o);
    for (int i = 0; i != 10; ++i) EXPECT_TRUE(failure_of(client.get(peer.url())).code());
    EXPECT_EQ(client.statistics().retries, 100U);
    EXPECT_EQ(client.statistics().retries_held_back, 0U);
}

TEST(client_retries, have_a_budget_and_say_when_it_is_used_up) {
    const scripted_peer peer(script().read_head().cut());
    http::client_options o;
    o.retry.retries = 20;
    o.retry.delay = 1us;
    http::client client(o);
    for (int i = 0; i != 5; ++i) {
        const error e = failure_of(client.get(peer.url()));
        EXPECT_TRUE(e.code());
        EXPECT_THAT(e.message(), ::testing::HasSubstr("not retried: retry_budget_percent"));
        ASSERT_NE(http::info_of(e), nullptr);
        EXPECT_TRUE(http::info_of(e)->retry_held_back);
    }
    EXPECT_GE(client.statistics().retries, 10U);
    EXPECT_LE(client.statistics().retries, 12U);
    EXPECT_EQ(client.statistics().retries_held_back, 5U);
    EXPECT_EQ(peer.connections(), 5U + client.statistics().retries);
    const std::string busy = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
    const scripted_peer server(script().read_head().send(busy).again());
    const auto r = client.get(server.url()).wait();
    EXPECT_EQ(r.status, http::status::service_unavailable);
    EXPECT_TRUE(r.info.retry_held_back);
}

TEST(client_retries, that_a_call_asks_for_are_all_made) {
    const scripted_peer peer(script().read_head().cut());
    http::client client;
    for (int i = 0; i != 3; ++i) {
        const error e = failure_of(client.get(peer.url()).retry(10, 1us));
        EXPECT_EQ(e.attempt(), 11U);
        EXPECT_FALSE(http::info_of(e)->retry_held_back);
    }
    EXPECT_EQ(client.statistics().retries, 30U);
}

TEST(client_retries, of_curlev_wait_as_long_as_the_server_says) {
    const auto busy = [](std::string_view after) {
        return "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nRetry-After: " + std::string(after) +
               "\r\n\r\n";
    };
    http::client_options o = http::curlev_defaults();
    o.retry.retries = 1;
    o.proxy_from_environment = false;
    EXPECT_EQ(o.retry.delay, 100ms);
    for (const auto& [after, attempts] : {std::pair("7", 2U), std::pair("3600", 1U)}) {
        simulation world(1);
        scripted_peer_options at;
        at.listen = "10.0.0.1:80";
        scripted_peer server(
            world.loop(),
            {script().read_head().send(busy(after)).close(), script().read_head().respond("good")},
            at);
        world.run([&]() -> task<> {
            http::client client(o);
            auto calling = client.get(server.url());
            const auto r = co_await calling.full();
            EXPECT_EQ(r.info.attempts, attempts);
            EXPECT_EQ(r.info.times.ended >= 7s, attempts == 2);
            server.stop();
        });
    }
}

TEST(client_retries, never_repeat_a_post_that_was_sent) {
    const scripted_peer peer(script().read_head().cut());
    http::client client;
    EXPECT_TRUE(failure_of(client.post(peer.url()).body("x").retry(3, 1ms)).code());
    EXPECT_EQ(peer.connections(), 1U);
    http::client_options o;
    o.retry.retries = 2;
    o.retry.delay = 1ms;
    o.retry.not_idempotent = true;
    EXPECT_TRUE(failure_of(client.post(peer.url()).body("x").options(o)).code());
    EXPECT_EQ(peer.connections(), 4U);
}

class client_hedging : public ::testing::Test {
protected:
    using result = std::expected<http::full_response, error>;

    /// Both copies have been sent, and no server has responded.
    background_call start(const scripted_peer& peer, duration after = 1ms) {
        http::client_options o;
        o.retry.hedge_after = after;
        auto c =
            client_.get(peer.url()).options(o).start([this](result r) { got_ = std::move(r); });
        EXPECT_TRUE(peer.wait_for_stall(0));
        EXPECT_TRUE(peer.wait_for_stall(1));
        return c;
    }
    script fails_when(const gate& g) { return script().read_head().stall(g).cut(); }
    script responds_when(const gate& g) { return script().read_head().stall(g).respond("good"); }
    void wait_for_failures(std::uint64_t n) const {
        while (client_.statistics().failed < n) std::this_thread::yield();
    }

    http::client client_;
    result got_;
    const gate one_;
    const gate two_;
};

TEST_F(client_hedging, gives_the_first_response) {
    const scripted_peer peer({script().read_head().stall(), responds_when(two_)});
    const auto c = start(peer);
    two_.open();
    c.wait();
    ASSERT_TRUE(got_) << got_.error();
    EXPECT_EQ(got_->body, "good");
}

TEST_F(client_hedging, gives_the_response_of_one_copy_when_the_other_has_failed) {
    for (const bool first_fails : {true, false}) {
        const gate fail;
        const gate may_respond;
        const std::vector<script> both =
            first_fails ? std::vector{fails_when(fail), responds_when(may_respond)}
                        : std::vector{responds_when(may_respond), fails_when(fail)};
        const scripted_peer peer(both);
        const auto before = client_.statistics().failed;
        const auto c = start(peer);
        fail.open();
        wait_for_failures(before + 1);
        may_respond.open();
        c.wait();
        ASSERT_TRUE(got_) << got_.error();
        EXPECT_EQ(got_->body, "good");
    }
}

TEST_F(client_hedging, fails_when_both_copies_have) {
    const scripted_peer peer({fails_when(one_), fails_when(two_)});
    const auto c = start(peer);
    one_.open();
    wait_for_failures(1);
    EXPECT_FALSE(c.done());
    two_.open();
    c.wait();
    ASSERT_FALSE(got_);
    EXPECT_NE(got_.error(), std::errc::operation_canceled);
    EXPECT_EQ(client_.statistics().connections, 0U);
}

TEST_F(client_hedging, is_cancelled_with_one_copy_left) {
    const scripted_peer peer({fails_when(one_), responds_when(two_)});
    const auto c = start(peer);
    one_.open();
    wait_for_failures(1);
    c.cancel();
    c.wait();
    ASSERT_FALSE(got_);
    EXPECT_EQ(got_.error(), std::errc::operation_canceled);
}

TEST_F(client_hedging, sends_no_copy_of_what_has_failed_before) {
    const scripted_peer peer(script().read_head().cut());
    http::client_options o;
    o.retry.hedge_after = 1h;
    EXPECT_TRUE(failure_of(client_.get(peer.url()).options(o)).code());
    EXPECT_EQ(peer.connections(), 1U);
}

task<http::response> mark(http::request& req, const http::handler& next) {
    auto going = next(req);
    http::response r = co_await std::move(going);
    r.set("X-Marked", "yes");
    co_return std::move(r);
}

TEST(client_interceptors, stand_around_each_call) {
    const local_server server(path_of);
    http::client client;
    client.use(mark);
    const auto r = client.get(server.url("/a")).wait();
    EXPECT_EQ(r.body, "/a");
    EXPECT_EQ(r.header("X-Marked"), "yes");
}

task<http::response> cached(http::request& req, const http::handler& next) {
    if (req.path() == "/cached") co_return http::response("from the cache");
    auto going = next(req);
    http::response r = co_await std::move(going);
    if (req.path() == "/changed") r.set_text("changed");
    if (req.path() == "/emptied") r.set_text("");
    if (req.path() == "/dropped") r.set_body(http::body());
    co_return std::move(r);
}

TEST(client_interceptors, give_bodies_of_their_own) {
    const local_server server(path_of);
    http::client client;
    client.use(cached);
    EXPECT_EQ(client.get(server.url("/cached")).wait().body, "from the cache");
    const auto changed = client.get(server.url("/changed")).wait();
    EXPECT_EQ(changed.body, "changed");
    EXPECT_EQ(changed.info.attempts, 1U);
    for (const char* path : {"/emptied", "/dropped"}) {
        const auto emptied = client.get(server.url(path)).wait();
        EXPECT_EQ(emptied.body, "");
        EXPECT_EQ(emptied.info.attempts, 1U);
    }
    EXPECT_EQ(client.get(server.url("/other")).wait().body, "/other");
    block_on([&]() -> task<> {
        http::response r = co_await client.get(server.url("/cached"));
        EXPECT_EQ(r.length(), 14U);
        EXPECT_EQ(co_await r.read(), "from the cache");
        EXPECT_EQ(co_await r.read(), "");
        EXPECT_EQ(r.body().bytes(), "from the cache");
    });
}

/// Responds with what came: method, target, two fields and the body.
task<http::response> all_of(http::request& req) {
    const std::string body = co_await req.body().text();
    co_return http::response(std::string(req.method_text()) + ' ' + std::string(req.target()) +
                             ' ' + std::string(req.header("Content-Type")) + ' ' +
                             std::string(req.header("X-Signed")) + ' ' + body);
}

/// Sees all of a request and changes all of it.
task<http::response> rewrite(http::request& req, const http::handler& next) {
    const std::string seen = std::string(req.method_text()) + ' ' + std::string(req.path()) + ' ' +
                             std::string(req.query_text()) + ' ' + co_await req.body().text();
    if (req.path() == "/signed") {
        req.fields().set("X-Signed", std::to_string(seen.size()) + seen);
    } else if (req.path() == "/other") {
        const std::string elsewhere =
            "http://" + std::string(req.host()) + "/elsewhere?z=" + std::to_string(seen.size());
        req.set_method("PATCH").set_url(elsewhere).set_content(
            http::body("<" + std::string(req.content().bytes()) + ">"), "text/x-angles");
        EXPECT_EQ(req.method_text(), "PATCH");
        EXPECT_EQ(req.method(), http::method::patch);
        EXPECT_EQ(req.path(), "/elsewhere");
        EXPECT_EQ(req.target(), elsewhere);
        EXPECT_EQ(co_await req.body().text(), req.content().bytes());
    } else if (req.path() == "/form") {
        req.fields().set("X-Signed", seen.contains("name=\"name\"") ? "seen" : "not seen");
    } else if (req.path() == "/odd") {
        req.set_method("BREW");
    }
    auto going = next(req);
    co_return co_await std::move(going);
}

TEST(client_interceptors, see_and_change_all_of_a_request) {
    const local_server server(all_of);
    http::client client;
    client.use(rewrite);
    const auto seen =
        client.post(server.url("/signed?a=1")).query("b", "2 3").body("text", "text/plain").wait();
    EXPECT_EQ(seen.body,
              "POST /signed?a=1&b=2%203 text/plain 29POST /signed a=1&b=2%203 text text");
    const auto changed =
        client.post(server.url("/other")).query("q", "1").body("text", "text/plain").wait();
    EXPECT_EQ(changed.body, "PATCH /elsewhere?z=20 text/x-angles  <text>");
    EXPECT_EQ(changed.info.url.path(), "/elsewhere");
    EXPECT_EQ(client.get(server.url("/other")).wait().body,
              "PATCH /elsewhere?z=12 text/x-angles  <>");
    EXPECT_EQ(client.get(server.url("/odd")).wait().body, "BREW /odd   ");
    EXPECT_EQ(client.get(server.url("/plain")).wait().body, "GET /plain   ");
    http::form_body parts;
    parts.add("name", "value");
    const auto form = client.post(server.url("/form")).multipart(std::move(parts)).wait();
    EXPECT_NE(form.body.find(" seen "), std::string::npos) << form.body;
    EXPECT_NE(form.body.find("name=\"name\""), std::string::npos) << form.body;
}

TEST(client_interceptors, change_nothing_into_what_cannot_be_sent) {
    const local_server server(all_of);
    http::client client;
    std::vector<std::error_code> refused;
    client.use([&refused](http::request& req, const http::handler& next) -> task<http::response> {
        const auto refuses = [&refused](auto f) {
            try {
                f();
                refused.emplace_back();
            } catch (const exception& e) {
                refused.push_back(e.code());
            }
        };
        refuses([&] { req.set_method("BAD METHOD"); });
        refuses([&] { req.set_method("CONNECT"); });
        refuses([&] { req.set_url("not a url"); });
        refuses([&] { req.set_content("y", "text/plain\r\nX-Injected: yes"); });
        auto going = next(req);
        co_return co_await std::move(going);
    });
    EXPECT_EQ(client.put(server.url("/same")).body("x", "a/b").wait().body, "PUT /same a/b  x");
    ASSERT_EQ(refused.size(), 4u);
    for (const std::error_code& code : refused) EXPECT_TRUE(code);
    // A request that came is nobody's to send.
    const local_server strict([](http::request& req) {
        try {
            req.set_method("PUT");
        } catch (const exception& e) {
            return http::response(e.code() == std::errc::operation_not_supported ? "no" : "other");
        }
        return http::response("yes");
    });
    EXPECT_EQ(http::client().get(strict.url()).wait().body, "no");
}

TEST(client_calls, are_cancelled_by_their_handle) {
    const scripted_peer peer(script().read_head().stall());
    http::client client;
    std::expected<http::full_response, error> got;
    const auto c = client.get(peer.url()).start([&](auto r) { got = std::move(r); });
    ASSERT_TRUE(peer.wait_for_stall());
    c.cancel();
    c.wait();
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error(), std::errc::operation_canceled);
    EXPECT_EQ(client.statistics().connections, 0U);
}

TEST(client_calls, under_way_are_cut_when_it_stops_and_later_ones_refused) {
    const scripted_peer peer(script().read_head().stall());
    http::client client;
    std::atomic<int> failed = 0;
    for (int i = 0; i != 5; ++i) {
        client.get(peer.url()).start([&](auto r) { failed += r ? 0 : 1; });
    }
    EXPECT_TRUE(client.stop(10ms));
    EXPECT_EQ(failed, 5);
    EXPECT_EQ(failure_of(client.get(peer.url())), errc::shutting_down);
}

TEST(client_calls, under_way_end_when_it_is_destroyed) {
    const scripted_peer peer(script().read_head().stall());
    std::atomic<int> failed = 0;
    {
        background_options b;
        b.drain = 10ms;
        http::client client({}, {}, b);
        for (int i = 0; i != 5; ++i) {
            client.get(peer.url()).start([&](auto r) { failed += r ? 0 : 1; });
        }
    }
    EXPECT_EQ(failed, 5);
}

TEST(client_calls, that_are_being_started_when_it_is_destroyed_are_refused) {
    auto client = std::make_unique<http::client>();
    const http::call c = client->get("http://127.0.0.1:1/");
    const auto own = c.own_loop();
    client.reset();
    const auto nothing = []() -> task<> { co_return; };
    try {
        own->wait(nothing);
        ADD_FAILURE() << "it was started";
    } catch (const exception& e) {
        EXPECT_EQ(e.error(), errc::shutting_down);
    }
    EXPECT_THROW(static_cast<void>(c.own_loop()), exception);
}

TEST(client_calls, are_refused_when_it_was_stopped_before_the_first) {
    const local_server server(path_of);
    http::client client;
    EXPECT_FALSE(client.stop());
    EXPECT_EQ(failure_of(client.get(server.url())), errc::shutting_down);
    EXPECT_EQ(client.statistics().calls, 0U);
}

TEST(client_calls, on_several_loops_at_once_have_connections_of_their_own) {
    const local_server server(path_of);
    http::client client;
    std::atomic<int> good = 0;
    const auto some = [&] {
        block_on([&]() -> task<> {
            for (int i = 0; i != 50; ++i) {
                auto r = co_await client.get(server.url("/x"));
                if (co_await r.text() == "/x") ++good;
            }
        });
    };
    std::thread one(some);
    std::thread two(some);
    one.join();
    two.join();
    EXPECT_EQ(good, 100);
    EXPECT_EQ(server.counters().connections, 2U);
    EXPECT_EQ(client.statistics().connections, 0U);
    EXPECT_EQ(client.get(server.url("/y")).wait().body, "/y");
}

TEST(client_calls, outlive_their_client_on_other_loops) {
    const local_server server(path_of);
    block_on([&]() -> task<> {
        auto client = std::make_unique<http::client>();
        http::call c = client->get(server.url("/x"));
        client.reset();
        EXPECT_EQ((co_await as_result(c)).error(), errc::shutting_down);
    });
}

void expect_not_misled(const scripted_peer_options& o) {
    const gate later;
    const std::string forged = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged";
    const scripted_peer peer({script().read_head().respond("one").stall(later).send(forged).stall(),
                              script().read_head().respond("two")},
                             o);
    http::client_options trusting;
    const temporary_directory folder;
    if (o.self_signed) {
        trusting.certificates.authorities = folder.write("ca.pem", peer.authorities());
    }
    http::client client(trusting);
    EXPECT_EQ(client.get(peer.url()).wait().body, "one");
    EXPECT_TRUE(peer.wait_for_stall());
    const std::uint64_t before = peer.record().bytes_sent;
    later.open();
    EXPECT_TRUE(peer.wait_until([&](const auto& r) { return r[0].bytes_sent > before; }));
    EXPECT_EQ(client.get(peer.url()).wait().body, "two");
    EXPECT_EQ(client.statistics().reused, 0U);
    EXPECT_EQ(client.statistics().opened, 2U);
}

TEST(client_connections, on_which_bytes_came_that_nobody_asked_for_are_not_used_again) {
    expect_not_misled({});
    scripted_peer_options secured;
    secured.self_signed = true;
    expect_not_misled(secured);
}

/// The server does something to a connection behind the response of one call, while another waits
/// for it.
void expect_not_handed_over(script first, const gate& go, const gate& later) {
    const scripted_peer peer({std::move(first), script().read_head().respond("two")});
    http::pool_options p;
    p.connections_per_host = 1;
    http::client client({}, p);
    // The loop of the client stands until the server has done it.
    const auto meddle = [&](const http::progress& so_far) {
        if (so_far.received == 0) return true;
        EXPECT_TRUE(peer.wait_for_stall());
        const auto before = peer.record().steps;
        later.open();
        return peer.wait_until([&](const auto& r) { return r[0].steps > before + 1; });
    };
    std::expected<http::full_response, error> one;
    std::expected<http::full_response, error> two;
    const auto a =
        client.get(peer.url()).on_progress(meddle).start([&](auto r) { one = std::move(r); });
    EXPECT_TRUE(peer.wait_for_stall());
    const auto b = client.post(peer.url()).body("x").start([&](auto r) { two = std::move(r); });
    while (client.statistics().waiting != 1) std::this_thread::yield();
    go.open();
    a.wait();
    b.wait();
    ASSERT_TRUE(one) << one.error();
    ASSERT_TRUE(two) << two.error();
    EXPECT_EQ(one->body, "one");
    EXPECT_EQ(two->body, "two");
    EXPECT_FALSE(two->info.reused);
    EXPECT_EQ(client.statistics().reused, 0U);
}

TEST(client_connections, that_are_spoiled_behind_a_response_go_to_nobody_who_waits) {
    const auto responding = [](const gate& go, const gate& later) {
        return script().read_head().stall(go).respond("one").stall(later);
    };
    const std::string forged = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged";
    {
        const gate go;
        const gate later;
        expect_not_handed_over(responding(go, later).send(forged).stall(), go, later);
    }
    const gate go;
    const gate later;
    expect_not_handed_over(responding(go, later).shutdown_output().stall(), go, later);
}

TEST(client_connections, that_have_to_be_new_are_not_those_of_others) {
    const gate cut;
    const scripted_peer peer({script().read_head().respond("warm").read_head().stall(cut).cut(),
                              script().read_head().respond("other").read_head().cut(),
                              script().read_head().respond("new")});
    http::pool_options p;
    p.connections_per_host = 1;
    http::client client({}, p);
    EXPECT_EQ(client.get(peer.url()).wait().body, "warm");
    std::expected<http::full_response, error> got;
    std::expected<http::full_response, error> other;
    const auto a = client.get(peer.url()).start([&](auto r) { got = std::move(r); });
    EXPECT_TRUE(peer.wait_for_stall());
    const auto b = client.get(peer.url()).start([&](auto r) { other = std::move(r); });
    while (client.statistics().waiting != 1) std::this_thread::yield();
    cut.open();
    a.wait();
    b.wait();
    ASSERT_TRUE(got) << got.error();
    ASSERT_TRUE(other) << other.error();
    EXPECT_EQ(other->body, "other");
    EXPECT_EQ(got->body, "new");
    EXPECT_EQ(got->info.attempts, 2U);
    EXPECT_FALSE(got->info.reused);
}

}  // namespace
}  // namespace coracle::testing
