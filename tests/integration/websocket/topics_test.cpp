// Topics: who gets what, in which order, and what becomes of those who read slowly.

#include "integration/websocket/topic_members.hpp"
#include "support/allocation_count.hpp"

#include <coracle/runtime/when_all.hpp>
#include <coracle/websocket/topics.hpp>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace topic_members;
using websocket::topic_matches;

/// Subscribes to "t" until the end.
auto listener_of(websocket::topics& topics) {
    return [&topics](websocket::connection& ws) -> task<> {
        const auto s = topics.subscribe(ws, "t");
        co_await ws.closed();
    };
}

/// A topic "t" whose listeners at "/ws" may read nothing for an hour.
struct slow_reader_scene {
    slow_reader_scene(websocket::slow_reader policy, std::size_t backlog)
        : topics({.backlog = backlog, .policy = policy}),
          route(websocket::route(routes, "/ws", patient(), listener_of(topics))) {}
    static websocket::route_options patient() {
        websocket::route_options o;
        o.timeouts.write = 1h;
        o.timeouts.idle = 1h;
        o.timeouts.ping = 0s;
        return o;
    }

    websocket::topics topics;
    http::router routes;
    websocket::endpoint route;
};

}  // namespace

TEST(websocket_topics, match_by_tokens) {
    EXPECT_TRUE(topic_matches("room", "room"));
    EXPECT_TRUE(topic_matches("room.a", "room.a"));
    EXPECT_TRUE(topic_matches("room.*", "room.a"));
    EXPECT_TRUE(topic_matches("*.a", "room.a"));
    EXPECT_TRUE(topic_matches("room.>", "room.a"));
    EXPECT_TRUE(topic_matches("room.>", "room.a.b"));
    EXPECT_TRUE(topic_matches(">", "room.a.b"));
    EXPECT_TRUE(topic_matches("*.*.b", "room.a.b"));
    EXPECT_FALSE(topic_matches("room", "rooms"));
    EXPECT_FALSE(topic_matches("room.*", "room"));
    EXPECT_FALSE(topic_matches("room.*", "room.a.b"));
    EXPECT_FALSE(topic_matches("room.>", "room"));
    EXPECT_FALSE(topic_matches("room.a", "room"));
    EXPECT_FALSE(topic_matches("room.a.*", "room.b.c"));
}

TEST(websocket_topics, reach_those_who_subscribed_and_once) {
    for (const std::uint64_t seed : seeds(8)) {
        websocket::topics topics;
        http::router routes;
        websocket::route(routes, "/ws", member_of(topics));
        chat_world w(seed, routes);
        w.run([&](chat_world&) -> task<> {
            http::client client;
            auto a = co_await join(client, "to=room.a&to=room.*&to=%3E");
            auto b = co_await join(client, "to=room.b");
            co_await sleep_for(1s);
            EXPECT_EQ(topics.presence("room.b"), 1U);
            EXPECT_EQ(topics.presence("room.*"), 1U);
            EXPECT_EQ(topics.presence("room.c"), 0U);
            co_await b.send("room.a one");
            co_await b.send("room.b two");
            co_await b.send("other three");
            for (const char* expected : {"one", "two", "three"}) {
                const std::string heard = co_await hear(a);
                EXPECT_EQ(heard, expected);
            }
            const std::string heard = co_await hear(b);
            EXPECT_EQ(heard, "two");
            co_await a.close();
            co_await b.close();
            co_await sleep_for(1s);
            EXPECT_EQ(topics.presence("room.b"), 0U);
            EXPECT_EQ(topics.publish("room.b", "nobody"), 0U);
            const auto c = topics.counters();
            EXPECT_EQ(c.published, 4U);
            EXPECT_EQ(c.delivered, 4U);
            EXPECT_EQ(c.subscribers, 0U);
        });
        if (::testing::Test::HasFailure()) return;
    }
}

TEST(websocket_topics, frame_no_message_that_nobody_has_subscribed_to) {
    if (!counts_allocations()) GTEST_SKIP() << "allocations are not counted in this build";
    websocket::topics topics;
    const std::string text(100'000, 'x');
    http::router routes;
    websocket::route(routes, "/ws", [&](websocket::connection& ws) -> task<> {
        const auto bytes_of = [&](std::string_view topic) {
            const std::size_t before = allocated_bytes();
            topics.publish(topic, text);
            return allocated_bytes() - before;
        };
        EXPECT_LT(bytes_of("room.a"), 1000U);
        {
            const auto exact = topics.subscribe(ws, "room.a");
            EXPECT_GE(bytes_of("room.a"), text.size());
            EXPECT_LT(bytes_of("room.b"), 1000U);
        }
        EXPECT_LT(bytes_of("room.a"), 1000U);
        {
            const auto first = topics.subscribe(ws, "room.*");
            const auto second = topics.subscribe(ws, "room.*");
            EXPECT_GE(bytes_of("room.b"), text.size());
        }
        EXPECT_LT(bytes_of("room.b"), 1000U);
        EXPECT_EQ(topics.counters().published, 6U);
        // One that is retained is kept for those who come.
        EXPECT_EQ(topics.publish("room.c", "kept", true), 0U);
        EXPECT_EQ(topics.retained("room.c"), "kept");
        co_return;
    });
    chat_world w(1, routes);
    w.run([&](chat_world& in) -> task<> {
        raw_peer p = co_await in.connect();
        co_await p.shake_hands("/ws");
        // The handler has come to its end.
        EXPECT_EQ(co_await p.read_close(), close_code::normal);
    });
}

TEST(websocket_topics, refuse_names_that_are_none) {
    websocket::topics topics;
    for (const char* bad : {"", ".", "a.", ".a", "a..b", "a.*", ">", "a*"}) {
        EXPECT_THROW(topics.publish(bad, "x"), coracle::exception) << bad;
    }
    http::router routes;
    int refused = 0;
    websocket::route(routes, "/ws", [&](websocket::connection& ws) -> task<> {
        for (const char* bad : {"", "a.", ">.a", "a*", "a.b>", "..", "*a.b"}) {
            try {
                const auto never = topics.subscribe(ws, bad);
                ADD_FAILURE() << bad;
            } catch (const coracle::exception& e) {
                EXPECT_EQ(e.error(), std::errc::invalid_argument);
                ++refused;
            }
        }
        co_return;
    });
    chat_world w(1, routes);
    w.run([&](chat_world& in) -> task<> {
        raw_peer p = co_await in.connect();
        co_await p.shake_hands("/ws");
        co_await p.read_close();
    });
    EXPECT_EQ(refused, 7);
}

TEST(websocket_topics, keep_one_message_of_each_wherever_memory_fails) {
    if (!coracle::testing::counts_allocations()) {
        GTEST_SKIP() << "allocations are not counted in this build";
    }
    for (std::size_t n = 1;; ++n) {
        websocket::topic_options o;
        o.retained = 2;
        websocket::topics topics(o);
        topics.publish("a", "old", true);
        const auto publish = [&](std::string_view topic) {
            coracle::testing::fail_allocation(n);
            try {
                topics.publish(topic, "new", true);
            } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): then it is not kept
            }
            const bool was_enough = coracle::testing::allocation_will_fail();
            coracle::testing::fail_allocation(0);
            return was_enough;
        };
        const bool was_enough_for_a = publish("a");
        const bool was_enough_for_b = publish("b");
        EXPECT_TRUE(topics.retained("a") == "old" || topics.retained("a") == "new") << n;
        // One of a topic that was not kept is no other's.
        topics.publish("b", "last", true);
        EXPECT_EQ(topics.retained("b"), "last");
        topics.publish("c", "more", true);
        EXPECT_EQ(topics.retained("b"), "last") << n;
        EXPECT_EQ(topics.retained("a"), std::nullopt) << n;
        if (was_enough_for_a && was_enough_for_b) break;
        ASSERT_LT(n, 100u);
    }
}

TEST(websocket_topics, keep_the_last_message) {
    websocket::topic_options o;
    o.retained = 2;
    websocket::topics topics(o);
    topics.publish("a", "1", true);
    topics.publish("b", "2", true);
    topics.publish("a", "3", true);
    topics.publish("c", "4", true);
    EXPECT_EQ(topics.retained("a"), "3");
    EXPECT_EQ(topics.retained("b"), std::nullopt);
    topics.publish("c", "", true);
    EXPECT_EQ(topics.retained("c"), std::nullopt);
    topics.publish("a", "not kept");
    EXPECT_EQ(topics.retained("a"), "3");
    http::router routes;
    websocket::route(routes, "/ws", member_of(topics));
    chat_world w(1, routes);
    w.run([&](chat_world&) -> task<> {
        http::client client;
        auto ws = co_await join(client, "to=*");
        const std::string heard = co_await hear(ws);
        EXPECT_EQ(heard, "3");
        co_await ws.close();
    });
}

TEST(websocket_topics, compress_once_for_those_who_agreed) {
    websocket::topic_options o;
    o.compression.mode = websocket::compression_mode::per_message;
    websocket::topics topics(o);
    websocket::route_options ro;
    ro.compression.mode = websocket::compression_mode::with_context;
    http::router routes;
    // Messages of its own between those that are shared: the contexts must not mix.
    websocket::route(routes, "/ws", ro, [&](websocket::connection& ws) -> task<> {
        const auto s = topics.subscribe(ws, "boats");
        while (auto message = co_await ws.receive()) {
            co_await ws.send("own " + message->str());
            topics.publish("boats", *message);
            co_await ws.send("own " + message->str());
        }
    });
    chat_world w(1, routes);
    w.run([&](chat_world& in) -> task<> {
        http::client client;
        auto packed = websocket::connect(client, "ws://127.0.0.1:80/ws");
        packed.compression(websocket::compression_mode::with_context);
        auto ws = co_await packed;
        std::string text;
        for (int i = 0; i != 60; ++i) text += "boats and boats ";
        for (int i = 0; i != 5; ++i) {
            co_await ws.send(text);
            for (const std::string& expected : {"own " + text, text, "own " + text}) {
                const std::string heard = co_await hear(ws);
                EXPECT_EQ(heard, expected);
            }
        }
        co_await ws.close();
        // On the wire it is compressed.
        raw_peer p = co_await in.connect();
        co_await p.shake_hands("/ws", "Sec-WebSocket-Extensions: permessage-deflate\r\n");
        co_await p.send_text("x");
        co_await p.read();
        co_await p.read();
        co_await p.read();
        topics.publish("boats", text);
        const auto f = co_await p.read();
        EXPECT_TRUE(f.compressed());
        EXPECT_LT(f.payload.size(), text.size() / 10);
        co_await p.send(close_frame(close_code::normal));
        co_await p.read_close();
    });
}

TEST(websocket_topics, deal_with_slow_readers_as_they_are_told) {
    using websocket::slow_reader;
    for (const auto policy :
         {slow_reader::drop_oldest, slow_reader::drop_newest, slow_reader::disconnect}) {
        slow_reader_scene scene(policy, 10);
        websocket::topics& topics = scene.topics;
        const websocket::endpoint& route = scene.route;
        chat_world w(1, scene.routes);
        w.run([&](chat_world& in) -> task<> {
            raw_peer p = co_await in.connect();
            co_await p.shake_hands("/ws");
            co_await sleep_for(1s);
            const std::string large = repeated(100'000);
            for (int i = 0; i != 100; ++i) {
                topics.publish("t", std::to_string(i) + large);
                co_await sleep_for(10ms);
            }
            EXPECT_GT(route.counters().slow_readers, 0U);
            std::vector<std::string> heard;
            close_code ended = close_code::abnormal;
            topics.publish("t", "last");
            for (;;) {
                auto reading = p.read();
                auto f = co_await as_result(with_timeout(1min, std::move(reading)));
                if (!f) break;
                if (f->code() == frame_opcode::close) {
                    ended = f->why();
                    break;
                }
                heard.push_back(f->payload.substr(0, f->payload.find('*')));
            }
            EXPECT_EQ(heard.back() == "last", policy == slow_reader::drop_oldest);
            EXPECT_EQ(ended == close_code::try_again_later, policy == slow_reader::disconnect);
            for (std::size_t i = 1; i + 1 < heard.size(); ++i) {
                EXPECT_LT(std::stoi(heard[i - 1]), std::stoi(heard[i]));
            }
            EXPECT_LT(heard.size(), 90U);
            p.stream().close(true);
        });
    }
}

TEST(websocket_topics, give_who_reads_all_that_is_retained) {
    using websocket::slow_reader;
    constexpr int many = 40;
    for (const auto policy :
         {slow_reader::drop_oldest, slow_reader::drop_newest, slow_reader::disconnect}) {
        websocket::topics topics({.backlog = 4, .policy = policy});
        http::router routes;
        const auto route =
            websocket::route(routes, "/ws", [&topics](websocket::connection& ws) -> task<> {
                const auto all = topics.subscribe(ws, ">");
                // These are beside them.
                for (int i = 0; i != 4; ++i) topics.publish("live", "live");
                co_await ws.closed();
            });
        chat_world w(1, routes);
        w.run([&](chat_world& in) -> task<> {
            for (int i = 0; i != many; ++i) {
                topics.publish("r." + std::to_string(i), std::to_string(i) + repeated(100'000),
                               true);
            }
            raw_peer p = co_await in.connect();
            co_await p.shake_hands("/ws");
            std::set<std::string> heard;
            for (int i = 0; i != many; ++i) {
                const std::string text = co_await p.read_text();
                heard.insert(text.substr(0, text.find('*')));
            }
            EXPECT_EQ(heard.size(), std::size_t{many});
            for (int i = 0; i != 4; ++i) {
                const std::string text = co_await p.read_text();
                EXPECT_EQ(text, "live");
            }
            EXPECT_EQ(route.counters().slow_readers, 0U);
            p.stream().close(true);
        });
    }
}

TEST(websocket_topics, keep_one_set_of_what_is_retained_however_often_a_peer_subscribes) {
    using websocket::slow_reader;
    constexpr int many = 40;
    for (const auto policy :
         {slow_reader::drop_oldest, slow_reader::drop_newest, slow_reader::disconnect}) {
        websocket::topics topics({.backlog = 4, .policy = policy, .retained = many});
        http::router routes;
        const auto route =
            websocket::route(routes, "/ws", [&topics](websocket::connection& ws) -> task<> {
                for (int i = 0; i != 100; ++i) static_cast<void>(topics.subscribe(ws, ">"));
                co_await ws.closed();
            });
        chat_world w(1, routes);
        w.run([&](chat_world& in) -> task<> {
            for (int i = 0; i != many; ++i) {
                topics.publish("r." + std::to_string(i), repeated(100'000), true);
            }
            raw_peer p = co_await in.connect();
            co_await p.shake_hands("/ws");
            int heard = 0;
            for (;;) {
                auto reading = p.read();
                const auto f = co_await as_result(with_timeout(1min, std::move(reading)));
                if (!f || f->code() != frame_opcode::text) break;
                ++heard;
            }
            EXPECT_TRUE(heard >= many + 4 || policy == slow_reader::disconnect) << heard;
            // Beside them are some that were sent at once.
            EXPECT_LE(heard, many + 4 + 20);
            EXPECT_GT(route.counters().slow_readers, 0U);
            p.stream().close(true);
        });
    }
}

// Some messages of either kind wait all the time.
TEST(websocket_topics, take_turns_with_tasks_that_send_without_end) {
    websocket::topics topics;
    http::router routes;
    const std::string large = '*' + repeated(64 * 1024);
    websocket::route(routes, "/ws", slow_reader_scene::patient(),
                     [&](websocket::connection& ws) -> task<> {
                         const auto all = topics.subscribe(ws, "t");
                         const auto floods = [&]() -> task<> {
                             for (;;) co_await ws.send(websocket::message_type::binary, large);
                         };
                         auto both = when_all(floods(), floods(), floods());
                         co_await std::move(both);
                     });
    chat_world w(1, routes);
    w.run([&](chat_world& in) -> task<> {
        raw_peer p = co_await in.connect();
        co_await p.shake_hands("/ws");
        co_await sleep_for(1s);
        int published = 0;
        while (published != 10) topics.publish("t", std::to_string(published++) + large);
        int shared = 0;
        for (int i = 0; i != 200; ++i) {
            const auto f = co_await p.read();
            if (f.code() != frame_opcode::text || !f.fin()) continue;
            EXPECT_TRUE(f.payload.starts_with(std::to_string(shared) + "*"));
            ++shared;
            topics.publish("t", std::to_string(published++) + large);
        }
        EXPECT_GT(shared, 60);
        EXPECT_LT(shared, 140);
        p.stream().close(true);
    });
}

TEST(websocket_topics, may_keep_all_for_a_slow_reader) {
    using websocket::slow_reader;
    for (const auto policy : {slow_reader::drop_newest, slow_reader::disconnect}) {
        websocket::topics topics({.backlog = SIZE_MAX, .policy = policy});
        http::router routes;
        const auto listens = [&topics](websocket::connection& ws) -> task<> {
            const auto all = topics.subscribe(ws, ">");
            co_await ws.closed();
        };
        const auto route = websocket::route(routes, "/ws", slow_reader_scene::patient(), listens);
        // More than is on its way to a reader that stands still.
        for (int i = 0; i != 100; ++i) {
            topics.publish("t" + std::to_string(i), repeated(100'000), true);
        }
        chat_world w(1, routes);
        w.run([&](chat_world& in) -> task<> {
            raw_peer p = co_await in.connect();
            co_await p.shake_hands("/ws");
            co_await sleep_for(1s);
            for (int i = 0; i != 100; ++i) topics.publish("t", repeated(100'000));
            EXPECT_EQ(route.counters().slow_readers, 0U);
            for (int i = 0; i != 200; ++i) {
                const std::string text = co_await p.read_text();
                EXPECT_EQ(text.size(), 100'000U);
            }
            p.stream().close(true);
        });
    }
}

TEST(websocket_topics, may_keep_nothing_for_a_slow_reader) {
    using websocket::slow_reader;
    for (const auto policy : {slow_reader::drop_oldest, slow_reader::drop_newest}) {
        slow_reader_scene scene(policy, 0);
        websocket::topics& topics = scene.topics;
        const websocket::endpoint& route = scene.route;
        chat_world w(1, scene.routes);
        w.run([&](chat_world& in) -> task<> {
            raw_peer p = co_await in.connect();
            co_await p.shake_hands("/ws");
            co_await sleep_for(1s);
            for (int i = 0; i != 100; ++i) topics.publish("t", repeated(100'000));
            const auto dropped = route.counters().slow_readers;
            EXPECT_GT(dropped, 0U);
            for (std::uint64_t i = dropped; i != 100; ++i) {
                const std::string text = co_await p.read_text();
                EXPECT_EQ(text.size(), 100'000U);
            }
            co_await sleep_for(1s);
            topics.publish("t", "there is room again");
            const std::string text = co_await p.read_text();
            EXPECT_EQ(text, "there is room again");
            p.stream().close(true);
        });
    }
}

TEST(websocket_topics, reach_all_loops_once_and_in_order) {
    for (const std::uint64_t seed : seeds(12)) {
        simulation_options s;
        s.loops = 3;
        s.seed = seed;
        simulation sim(s);
        websocket::topics topics;
        http::router routes;
        websocket::route(routes, "/ws", [&](websocket::connection& ws) -> task<> {
            const auto mine = topics.subscribe(ws, "t");
            co_await ws.closed();
        });
        const http::handler h(routes);
        constexpr int messages = 100;
        std::size_t whole = 0;
        std::size_t done = 0;
        std::vector<std::unique_ptr<http::server>> servers;
        for (unsigned i = 0; i != 3; ++i) {
            http::server_options o;
            o.listen = "127.0.0.1:" + std::to_string(80 + i);
            servers.push_back(std::make_unique<http::server>(h, o));
            servers.back()->open(sim.loop(i));
        }
        // A visitor of each loop; each loop publishes, and all hear all in each one's order.
        sim.run_on_all([&](loop& l) -> task<> {
            const unsigned me = l.index();
            spawn([&, me]() -> task<> { co_await as_result(servers[me]->run(sim.loop(me))); });
            http::client client;
            const std::string url = "ws://127.0.0.1:" + std::to_string(80 + me) + "/ws";
            auto ws = co_await websocket::connect(client, url);
            co_await sleep_for(1s);
            const auto publishing = [&]() -> task<> {
                for (int i = 0; i != messages; ++i) {
                    topics.publish("t", std::to_string(me) + ':' + std::to_string(i));
                    if (i % 7 == 0) co_await sleep_for(3ms);
                }
            };
            const auto hearing = [&]() -> task<> {
                int next[3] = {};
                for (int n = 0; n != 3 * messages; ++n) {
                    const std::string text = co_await hear(ws);
                    const int who = text.at(0) - '0';
                    EXPECT_EQ(text, std::to_string(who) + ':' + std::to_string(next[who]++));
                }
                ++whole;
            };
            co_await when_all(publishing(), hearing());
            auto more = co_await as_result(with_timeout(5s, ws.receive()));
            EXPECT_FALSE(more);
            co_await ws.close();
            ++done;
            while (done != 3) co_await sleep_for(1s);
            servers[me]->stop();
            co_await sleep_for(10s);
        });
        EXPECT_EQ(whole, 3U);
        EXPECT_EQ(topics.counters().dropped, 0U);
        if (::testing::Test::HasFailure()) return;
    }
}

/// Loops with a server each, on which visitors subscribe to "t".
struct several_loops {
    explicit several_loops(websocket::topic_options o) : topics(o), sim(with_loops()) {
        websocket::route(routes, "/ws", [this](websocket::connection& ws) -> task<> {
            const auto mine = topics.subscribe(ws, "t");
            co_await ws.closed();
        });
        for (unsigned i = 0; i != 2; ++i) {
            http::server_options so;
            so.listen = "127.0.0.1:" + std::to_string(80 + i);
            servers.push_back(std::make_unique<http::server>(http::handler(routes), so));
            servers.back()->open(sim.loop(i));
        }
    }
    static simulation_options with_loops() {
        simulation_options s;
        s.loops = 2;
        return s;
    }
    /// Awaits `f(number of the loop)` on each, beside its server.
    template <class F>
    void run(F f) {
        int left = 2;
        sim.run_on_all([&](loop& l) -> task<> {
            const unsigned me = l.index();
            spawn([&, me]() -> task<> { co_await as_result(servers[me]->run(sim.loop(me))); });
            auto work = f(me);
            co_await std::move(work);
            --left;
            while (left != 0) co_await sleep_for(1s);
            servers[me]->stop();
            co_await sleep_for(10s);
        });
    }
    static task<websocket::connection> visit(http::client& client, unsigned i) {
        const std::string url = "ws://127.0.0.1:" + std::to_string(80 + i) + "/ws";
        auto dialing = websocket::connect(client, url);
        co_return co_await dialing;
    }

    websocket::topics topics;
    http::router routes;
    simulation sim;
    std::vector<std::unique_ptr<http::server>> servers;
};

TEST(websocket_topics, have_so_many_bytes_on_their_way_to_another_loop) {
    several_loops w({.handed_over = 10 * (1000 + 256 + 4)});
    int heard = 0;
    w.run([&](unsigned me) -> task<> {
        http::client client;
        if (me == 1) {
            co_await sleep_for(1s);
            // None of them arrives before this task waits.
            for (int i = 0; i != 100; ++i) w.topics.publish("t", repeated(1000));
            EXPECT_EQ(w.topics.counters().dropped, 90U);
            co_await sleep_for(5s);
            // Those that have arrived are on their way no more.
            for (int i = 0; i != 10; ++i) w.topics.publish("t", repeated(1000));
            EXPECT_EQ(w.topics.counters().dropped, 90U);
            co_return;
        }
        auto ws = co_await several_loops::visit(client, me);
        for (;;) {
            auto message = co_await as_result(with_timeout(20s, ws.receive()));
            if (!message) break;
            ++heard;
        }
        co_await ws.close();
    });
    EXPECT_EQ(heard, 20);
}

// Its number is given before the subscription, and it arrives behind it.
TEST(websocket_topics, give_a_retained_message_once_to_who_subscribes_while_it_is_on_its_way) {
    simulation_options s;
    s.loops = 2;
    simulation sim(s);
    websocket::topics topics;
    std::optional<websocket::subscription> late;
    websocket::connection* visitor = nullptr;
    http::router routes;
    websocket::route(routes, "/ws", [&](websocket::connection& ws) -> task<> {
        visitor = &ws;
        const auto early = topics.subscribe(ws, "other");
        co_await ws.closed();
        late.reset();
    });
    http::server_options o;
    o.listen = "127.0.0.1:80";
    http::server server(http::handler(routes), o);
    server.open(sim.loop(1));
    bool done = false;
    sim.run_on_all([&](loop& l) -> task<> {
        if (l.index() == 1) {
            spawn([&]() -> task<> { co_await as_result(server.run(sim.loop(1))); });
            while (!done) co_await sleep_for(1s);
            server.stop();
            co_await sleep_for(10s);
            co_return;
        }
        http::client client;
        auto ws = co_await websocket::connect(client, "ws://127.0.0.1:80/ws");
        while (visitor == nullptr) co_await sleep_for(1s);
        sim.loop(1).post([&] { late = topics.subscribe(*visitor, "t"); });
        topics.publish("t", "kept", true);
        co_await sleep_for(1s);
        topics.publish("t", "next");
        for (const char* expected : {"kept", "next"}) {
            const std::string heard = co_await hear(ws);
            EXPECT_EQ(heard, expected);
        }
        co_await ws.close();
        done = true;
    });
}
