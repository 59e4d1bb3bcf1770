// A client's connection that comes back: waits, hooks, queues, and an end.

#include "integration/websocket/simulated_websocket.hpp"

#include <coracle/runtime/when_all.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/websocket/reconnecting.hpp>

#include <optional>
#include <string>
#include <vector>

namespace {

using namespace simulated_websocket;

/// Receives, while another task closes it after a second.
task<std::optional<websocket::message>> close_while_receiving(websocket::reconnecting& feed) {
    const auto closes = [&feed]() -> task<> {
        co_await sleep_for(1s);
        co_await feed.close();
    };
    auto both = when_all(feed.receive(), closes());
    auto [message, closed] = co_await std::move(both);
    co_return std::move(message);
}

/// A server whose route "/ws" says "hello", after handshakes that it responds to with these
/// statuses.
struct refusing_world {
    explicit refusing_world(std::vector<http::status> with)
        : statuses(std::move(with)), w(1, routes()) {}

    http::router routes() {
        http::router all;
        all.use([this](http::request& req, const http::handler& next) -> task<http::response> {
            seen.emplace_back(req.header("Authorization"));
            if (seen.size() > statuses.size()) co_return co_await next(req);
            http::response refused(statuses[seen.size() - 1]);
            if (!retry_after.empty()) refused.set("Retry-After", retry_after);
            co_return refused;
        });
        websocket::route_options o;
        o.subprotocols = {"news"};
        websocket::route(all, "/ws", o, [](websocket::connection& ws) -> task<> {
            co_await ws.send("hello " + std::string(ws.subprotocol()));
        });
        return all;
    }
    /// Awaits `f(feed)`.
    template <class F>
    void run(F f, std::string url = "ws://127.0.0.1:80/ws") {
        w.run([&](chat_world&) -> task<> {
            http::client client;
            websocket::reconnecting feed(client, url);
            co_await f(feed);
            co_await feed.close();
        });
    }

    std::vector<http::status> statuses;
    std::string retry_after;
    std::vector<std::string> seen;  ///< the Authorization of each handshake
    chat_world w;
};

}  // namespace

TEST(websocket_reconnecting, comes_back_subscribes_again_and_sends_what_waited) {
    for (const std::uint64_t seed : seeds(8)) {
        std::vector<std::string> heard;
        int visits = 0;
        http::router routes;
        // Each visit ends after its third message.
        websocket::route(routes, "/ws", [&](websocket::connection& ws) -> task<> {
            ++visits;
            for (int i = 0; i != 3; ++i) {
                auto message = co_await ws.receive();
                if (!message) co_return;
                heard.push_back(message->str());
                co_await ws.send("heard " + message->str());
            }
            if (visits == 2) throw std::runtime_error("a fault of the program");
        });
        chat_world w(seed, routes);
        w.run([&](chat_world& in) -> task<> {
            in.in.sim.log().set_level(log_level::off);
            http::client client;
            websocket::reconnecting feed(client, "ws://127.0.0.1:80/ws");
            feed.on_connect(
                [](websocket::connection& ws) -> task<> { co_await ws.send("subscribe"); });
            EXPECT_FALSE(feed.is_connected());
            co_await feed.send("before");
            std::vector<std::string> back;
            while (back.size() != 8) {
                auto message = co_await feed.receive();
                EXPECT_TRUE(message);
                if (!message) co_return;
                back.push_back(message->str());
                co_await feed.send(std::to_string(back.size()));
            }
            EXPECT_EQ(back[0], "heard subscribe");
            EXPECT_EQ(back[1], "heard before");
            EXPECT_GE(feed.connections(), 3U);
            co_await feed.close();
            auto end = co_await feed.receive();
            EXPECT_FALSE(end);
            auto late = co_await as_result(feed.send("late"));
            EXPECT_EQ(late.error(), std::errc::broken_pipe);
        });
        EXPECT_EQ(heard.front(), "subscribe");
        if (::testing::Test::HasFailure()) return;
    }
}

TEST(websocket_reconnecting, waits_longer_each_time_and_gives_up) {
    simulation sim(1);
    sim.run([&]() -> task<> {
        http::client client;
        websocket::reconnect_options o;
        o.first_delay = 1s;
        o.longest_delay = 4s;
        o.attempts = 5;
        websocket::reconnecting feed(client, "ws://127.0.0.1:80/ws", o);
        const time_point begun = sim.now();
        auto never = co_await as_result(feed.receive());
        EXPECT_FALSE(never);
        // 1, 2, 4 and 4 seconds, of each up to a half less.
        EXPECT_GE(sim.now() - begun, 5500ms);
        EXPECT_LE(sim.now() - begun, 11100ms);
        EXPECT_EQ(feed.connections(), 0U);
    });
}

// A server that shuts down may accept connections, and close each of them at once.
TEST(websocket_reconnecting, waits_longer_where_connections_do_not_last) {
    int accepted = 0;
    const auto closing = [&accepted](websocket::connection& ws) -> task<> {
        ++accepted;
        if (accepted == 6) co_await sleep_for(1min);
        co_await ws.close(close_code::try_again_later);
    };
    on_route({}, closing, [&accepted](chat_world& w, const auto&) -> task<> {
        accepted = 0;
        http::client client;
        websocket::reconnect_options o;
        o.first_delay = 1s;
        o.longest_delay = 8s;
        websocket::reconnecting feed(client, "ws://127.0.0.1:80/ws", o);
        std::vector<time_point> came;
        feed.on_connect([&](websocket::connection&) -> task<> {
            came.push_back(w.in.sim.now());
            if (came.size() == 8) co_await feed.close();
        });
        const auto last = co_await feed.receive();
        EXPECT_FALSE(last);
        EXPECT_EQ(came.size(), 8U);
        const auto wait = [&came](std::size_t i) { return came[i] - came[i - 1]; };
        // Each is shortened by up to a half.
        EXPECT_GE(wait(3), 2s);
        EXPECT_GE(wait(4), 4s);
        EXPECT_GE(wait(5), 4s);
        // The sixth has lasted for a minute.
        EXPECT_LT(wait(6), 63s);
        EXPECT_GE(wait(7), 1s);
        EXPECT_LT(wait(7), 4s);
    });
}

TEST(websocket_reconnecting, ends_where_another_attempt_would_not_help) {
    using enum http::status;
    for (const http::status s : {multiple_choices, bad_request, unauthorized, forbidden, not_found,
                                 gone, not_implemented, http_version_not_supported}) {
        refusing_world w({s, s});
        w.run([&](websocket::reconnecting& feed) -> task<> {
            auto failed = co_await as_result(feed.receive());
            EXPECT_FALSE(failed);
            if (failed) co_return;
            EXPECT_EQ(failed.error(), make_error_code(websocket::fault::refused));
            EXPECT_EQ(refused_status(failed.error()), s);
        });
        EXPECT_EQ(w.seen.size(), 1U);
    }
}

TEST(websocket_reconnecting, ends_where_the_url_is_none_of_a_websocket) {
    for (const auto& [url, why] :
         {std::pair("ws:/127.0.0.1:80", std::errc::invalid_argument),
          std::pair("ftp://127.0.0.1/", std::errc::protocol_not_supported)}) {
        refusing_world w({});
        w.run(
            [&](websocket::reconnecting& feed) -> task<> {
                auto failed = co_await as_result(feed.receive());
                EXPECT_FALSE(failed);
                if (failed) co_return;
                EXPECT_EQ(failed.error(), why);
                EXPECT_EQ(refused_status(failed.error()), std::nullopt);
            },
            url);
        EXPECT_EQ(w.seen.size(), 0U);
    }
}

TEST(websocket_reconnecting, has_no_first_connection_until_its_hook_has_succeeded) {
    using enum http::status;
    refusing_world w({});
    w.run([&](websocket::reconnecting& feed) -> task<> {
        feed.on_connect([&](websocket::connection&) -> task<> {
            w.statuses = {ok, unauthorized};
            throw_exception(error(coracle::errc::protocol_error, "subscribe"));
            co_return;
        });
        auto failed = co_await as_result(feed.receive());
        EXPECT_FALSE(failed);
        if (failed) co_return;
        EXPECT_EQ(refused_status(failed.error()), unauthorized);
    });
    EXPECT_EQ(w.seen.size(), 2U);
}

TEST(websocket_reconnecting, goes_on_after_what_passes) {
    using enum http::status;
    refusing_world w({request_timeout, too_early, too_many_requests, internal_server_error,
                      bad_gateway, service_unavailable, gateway_timeout});
    w.run([](websocket::reconnecting& feed) -> task<> {
        auto message = co_await feed.receive();
        EXPECT_EQ(message->data(), "hello ");
    });
    EXPECT_EQ(w.seen.size(), 8U);
}

// RFC 9110 section 10.2.3.
TEST(websocket_reconnecting, waits_as_long_as_it_is_asked_to) {
    using enum http::status;
    for (const auto& [asked, least, most] :
         {std::tuple("", 0s, 1s), std::tuple("0", 0s, 1s), std::tuple("120", 120s, 121s),
          std::tuple("86400", 300s, 301s), std::tuple("soon", 0s, 1s)}) {
        refusing_world w({service_unavailable});
        w.retry_after = asked;
        w.run([&](websocket::reconnecting& feed) -> task<> {
            const time_point begun = loop::current()->now();
            co_await feed.receive();
            const duration took = loop::current()->now() - begun;
            EXPECT_GE(took, least) << asked;
            EXPECT_LT(took, most) << asked;
            // The next one is as long as it is without.
            w.retry_after.clear();
            w.statuses = {ok, bad_gateway};
            const time_point again = loop::current()->now();
            co_await feed.receive();
            EXPECT_LT(loop::current()->now() - again, 2s) << asked;
        });
    }
}

// As of a loop that does other things in between.
TEST(websocket_reconnecting, waits_on_over_calls_that_are_cancelled) {
    refusing_world w(std::vector<http::status>(8, http::status::service_unavailable));
    w.run([&](websocket::reconnecting& feed) -> task<> {
        bool came = false;
        for (int i = 0; i != 600 && !came; ++i) {
            const auto got = co_await as_result(with_timeout(1s, feed.receive()));
            came = got && *got && (*got)->str().starts_with("hello");
            EXPECT_TRUE(got || got.error() == std::errc::timed_out);
        }
        EXPECT_TRUE(came);
        EXPECT_EQ(w.seen.size(), 9U);
    });
    refusing_world asks({http::status::service_unavailable});
    asks.retry_after = "60";
    asks.run([&](websocket::reconnecting& feed) -> task<> {
        const time_point begun = loop::current()->now();
        for (bool came = false; !came;) {
            const auto got = co_await as_result(with_timeout(1s, feed.receive()));
            came = got && got->has_value();
        }
        EXPECT_GE(loop::current()->now() - begun, 60s);
        EXPECT_EQ(asks.seen.size(), 2U);
    });
}

TEST(websocket_reconnecting, does_not_hurry_a_server_that_is_slow) {
    unsigned seen = 0;
    http::router routes;
    routes.get("/ws", [&seen](http::request&) -> task<http::response> {
        ++seen;
        co_await sleep_for(80ms);
        co_return http::status::service_unavailable;
    });
    chat_world w(1, routes);
    w.run([&](chat_world&) -> task<> {
        http::client client;
        websocket::reconnect_options o;
        o.first_delay = 1s;
        websocket::reconnecting feed(client, "ws://127.0.0.1:80/ws", o);
        for (int i = 0; i != 400; ++i) {
            const auto got = co_await as_result(with_timeout(50ms, feed.receive()));
            EXPECT_TRUE(!got && got.error() == std::errc::timed_out);
        }
        EXPECT_GE(seen, 15U);
        EXPECT_LE(seen, 45U);
        co_await feed.close();
    });
}

TEST(websocket_reconnecting, counts_failures_over_calls_that_are_cancelled) {
    refusing_world w(std::vector<http::status>(8, http::status::service_unavailable));
    w.w.run([&](chat_world&) -> task<> {
        http::client client;
        websocket::reconnect_options o;
        o.attempts = 3;
        websocket::reconnecting feed(client, "ws://127.0.0.1:80/ws", o);
        error last;
        for (int i = 0; i != 600 && !websocket::refusal_in(last); ++i) {
            const auto got = co_await as_result(with_timeout(50ms, feed.receive()));
            if (!got) last = got.error();
        }
        EXPECT_NE(websocket::refusal_in(last), nullptr);
        EXPECT_EQ(w.seen.size(), 3U);
        co_await feed.close();
    });
}

TEST(websocket_reconnecting, goes_on_whatever_fails_after_a_first_connection) {
    using enum http::status;
    refusing_world w({});
    w.run([&](websocket::reconnecting& feed) -> task<> {
        co_await feed.receive();
        w.statuses = {ok, unauthorized, not_found};
        auto message = co_await feed.receive();
        EXPECT_TRUE(message);
    });
    EXPECT_EQ(w.seen.size(), 4U);
}

TEST(websocket_reconnecting, asks_whether_to_go_on) {
    using enum http::status;
    refusing_world w({unauthorized, service_unavailable, not_found});
    std::vector<http::status> told;
    w.run([&](websocket::reconnecting& feed) -> task<> {
        feed.on_failure([&](const error& e) {
            told.push_back(refused_status(e).value_or(ok));
            return told.back() != service_unavailable;
        });
        auto failed = co_await as_result(feed.receive());
        EXPECT_FALSE(failed);
        if (failed) co_return;
        EXPECT_EQ(refused_status(failed.error()), service_unavailable);
        EXPECT_EQ(told, (std::vector{unauthorized, service_unavailable}));
        auto message = co_await feed.receive();
        EXPECT_TRUE(message);
        EXPECT_EQ(told, (std::vector{unauthorized, service_unavailable, not_found}));
    });
}

TEST(websocket_reconnecting, prepares_each_attempt) {
    refusing_world w({http::status::service_unavailable});
    int tokens = 0;
    w.run([&](websocket::reconnecting& feed) -> task<> {
        feed.on_connecting([&](websocket::connecting& c) {
            c.subprotocol("news").bearer(secret("t" + std::to_string(++tokens)));
        });
        auto message = co_await feed.receive();
        EXPECT_EQ(message->data(), "hello news");
    });
    EXPECT_EQ(w.seen, (std::vector<std::string>{"Bearer t1", "Bearer t2"}));
}

TEST(websocket_reconnecting, queues_as_it_is_told) {
    using websocket::queue_policy;
    for (const auto policy :
         {queue_policy::drop_oldest, queue_policy::drop_newest, queue_policy::refuse}) {
        std::string heard;
        http::router routes;
        websocket::route(routes, "/ws", [&](websocket::connection& ws) -> task<> {
            while (auto message = co_await ws.receive()) {
                heard += message->data();
                if (heard.size() == 3) co_await ws.send("enough");
            }
        });
        chat_world w(1, routes);
        w.run([&](chat_world&) -> task<> {
            http::client client;
            websocket::reconnect_options o;
            o.queued = 3;
            o.policy = policy;
            websocket::reconnecting feed(client, "ws://127.0.0.1:80/ws", o);
            int refused = 0;
            for (const char* text : {"a", "b", "c", "d"}) {
                auto sent = co_await as_result(feed.send(text));
                if (!sent && sent.error() == coracle::errc::limit_exceeded) ++refused;
            }
            EXPECT_EQ(refused, policy == queue_policy::refuse ? 1 : 0);
            EXPECT_EQ(feed.dropped(), policy == queue_policy::refuse ? 0U : 1U);
            co_await feed.receive();
            EXPECT_EQ(heard, policy == queue_policy::drop_oldest ? "bcd" : "abc");
            co_await feed.close();
        });
    }
}

TEST(websocket_reconnecting, sends_once_what_it_was_sending_when_it_was_cancelled) {
    std::vector<std::size_t> heard;
    http::router routes;
    websocket::route_options o;
    o.limits.message = 10'000'000;
    // It reads nothing for a while: the large message does not fit into the buffers between.
    websocket::route(routes, "/ws", o, [&](websocket::connection& ws) -> task<> {
        co_await sleep_for(10s);
        while (auto message = co_await ws.receive()) {
            heard.push_back(message->data().size());
            if (message->data() == "last") co_await ws.send("all");
        }
    });
    chat_world w(1, routes);
    w.run([&](chat_world&) -> task<> {
        http::client client;
        websocket::reconnecting feed(client, "ws://127.0.0.1:80/ws");
        co_await feed.send("first");
        co_await feed.send(repeated(5'000'000));
        co_await feed.send("last");
        // The first wait is cancelled amid the large message, the second before it begins the next.
        for (int i = 0; i != 2; ++i) {
            auto late = co_await as_result(with_timeout(2s, feed.receive()));
            EXPECT_FALSE(late);
        }
        auto message = co_await feed.receive();
        EXPECT_EQ(message->data(), "all");
        EXPECT_EQ(feed.connections(), 1U);
        co_await feed.close();
    });
    EXPECT_EQ(heard, (std::vector<std::size_t>{5, 5'000'000, 4}));
}

TEST(websocket_reconnecting, says_that_a_message_was_not_sent_when_it_is_closed_meanwhile) {
    http::router routes;
    websocket::route(routes, "/ws",
                     [](websocket::connection&) -> task<> { co_await sleep_for(1h); });
    chat_world w(1, routes);
    w.run([&](chat_world&) -> task<> {
        http::client client;
        websocket::reconnecting feed(client, "ws://127.0.0.1:80/ws");
        auto connecting = feed.receive();
        static_cast<void>(co_await as_result(with_timeout(1s, std::move(connecting))));
        EXPECT_TRUE(feed.is_connected());
        // The first fills what the server does not read, the second has to wait.
        const auto sends = [&feed]() -> task<> {
            const std::string large = repeated(5'000'000);
            co_await feed.send(large);
        };
        const auto sends_more = [&feed]() -> task<> {
            auto second = co_await as_result(feed.send("more"));
            EXPECT_TRUE(!second && second.error() == std::errc::broken_pipe);
        };
        const auto closes = [&feed]() -> task<> {
            co_await sleep_for(1s);
            co_await feed.close();
        };
        auto all = when_all(sends(), sends_more(), closes());
        co_await std::move(all);
    });
}

TEST(websocket_reconnecting, ends_an_attempt_that_is_under_way_when_it_is_closed) {
    int visits = 0;
    int greetings = 0;
    http::router routes;
    routes.use([](http::request& req, const http::handler& next) -> task<http::response> {
        co_await sleep_for(10s);
        co_return co_await next(req);
    });
    const auto route = websocket::route(routes, "/ws", [&](websocket::connection& ws) -> task<> {
        ++visits;
        co_await echo(ws);
    });
    chat_world w(1, routes);
    w.run([&](chat_world& in) -> task<> {
        http::client client;
        websocket::reconnecting feed(client, "ws://127.0.0.1:80/ws");
        feed.on_connect([&](websocket::connection&) -> task<> {
            ++greetings;
            co_return;
        });
        co_await feed.send("never sent");
        const time_point begun = in.in.sim.now();
        const auto message = co_await close_while_receiving(feed);
        EXPECT_FALSE(message);
        EXPECT_LT(in.in.since(begun), 2s);
        EXPECT_FALSE(feed.is_connected());
        EXPECT_EQ(client.statistics().connections, 0U);
        co_await sleep_for(1min);
        EXPECT_EQ(in.in.counters().open, 0U);
    });
    EXPECT_EQ(greetings, 0);
    EXPECT_EQ(visits, 0);
}

TEST(websocket_reconnecting, ends_the_wait_before_an_attempt_when_it_is_closed) {
    simulation sim(1);
    sim.run([&]() -> task<> {
        http::client client;
        websocket::reconnect_options o;
        o.first_delay = 30s;
        websocket::reconnecting feed(client, "ws://127.0.0.1:80/ws", o);
        const time_point begun = sim.now();
        const auto message = co_await close_while_receiving(feed);
        EXPECT_FALSE(message);
        EXPECT_LT(sim.now() - begun, 2s);
    });
}
