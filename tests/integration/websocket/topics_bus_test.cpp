// Topics with a bus to other processes: what it is told, and what becomes of what it brings.

#include "integration/websocket/topic_members.hpp"

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>

namespace {

using namespace topic_members;
using websocket::message_type;

/// A bus that carries nothing, and brings what a test says.
class quiet_bus final : public websocket::topic_bus {
public:
    void start(websocket::topic_receiver& to) override { receiver = &to; }
    void stop() noexcept override {}
    void publish(std::string_view, message_type, std::string_view, bool) override {}
    void subscribe(std::string_view) override {}
    void unsubscribe(std::string_view) noexcept override {}

    websocket::topic_receiver* receiver = nullptr;
};

/// Brings what others publish, and notes what is published here.
class noting_bus final : public websocket::topic_bus {
public:
    void start(websocket::topic_receiver& to) override { receiver = &to; }
    void stop() noexcept override { receiver = nullptr; }
    void publish(std::string_view topic, message_type, std::string_view bytes, bool) override {
        notes.append("publish ").append(topic).append(" ").append(bytes).append("\n");
    }
    void subscribe(std::string_view pattern) override {
        notes.append("subscribe ").append(pattern).append("\n");
    }
    void unsubscribe(std::string_view pattern) noexcept override {
        notes.append("unsubscribe ").append(pattern).append("\n");
    }
    websocket::topic_receiver* receiver = nullptr;
    std::string notes;
};

}  // namespace

// There may be many of them, one after the other, while a loop lasts.
TEST(websocket_topic_buses, are_stopped_when_topics_are_no_more_that_had_subscribers) {
    const auto bus = std::make_shared<noting_bus>();
    std::optional<websocket::topics> topics(std::in_place, websocket::topic_options(), bus);
    http::router routes;
    websocket::route(routes, "/ws", [&topics](websocket::connection& ws) -> task<> {
        const auto both = std::pair(topics->subscribe(ws, "t"), topics->subscribe(ws, "all.>"));
        co_await ws.closed();
    });
    chat_world w(1, routes);
    w.run([&](chat_world&) -> task<> {
        http::client client;
        auto ws = co_await join(client, "");
        co_await sleep_for(1s);
        EXPECT_EQ(topics->counters().subscribers, 2U);
        co_await ws.close();
        co_await sleep_for(1s);
        EXPECT_NE(bus->receiver, nullptr);
        topics.reset();
        EXPECT_EQ(bus->receiver, nullptr);
    });
}

TEST(websocket_topic_buses, give_who_reads_all_that_a_bus_brings_for_a_new_pattern) {
    constexpr int many = 40;
    const auto bus = std::make_shared<quiet_bus>();
    websocket::topics topics({.backlog = 4, .policy = websocket::slow_reader::disconnect}, bus);
    http::router routes;
    const auto route = websocket::route(routes, "/ws", [&](websocket::connection& ws) -> task<> {
        const auto all = topics.subscribe(ws, ">");
        for (int i = 0; i != 4; ++i) topics.publish("live", "live");
        const std::uint64_t since = bus->receiver->mark();
        for (int i = 0; i != many; ++i) {
            const std::string number = std::to_string(i);
            bus->receiver->restore(">", "r." + number, message_type::text,
                                   number + repeated(100'000), since);
        }
        co_await ws.closed();
    });
    chat_world w(1, routes);
    w.run([&](chat_world& in) -> task<> {
        raw_peer p = co_await in.connect();
        co_await p.shake_hands("/ws");
        for (int i = 0; i != 4; ++i) {
            const std::string text = co_await p.read_text();
            EXPECT_EQ(text, "live");
        }
        for (int i = 0; i != many; ++i) {
            const std::string text = co_await p.read_text();
            EXPECT_EQ(text.substr(0, text.find('a')), std::to_string(i));
        }
        EXPECT_EQ(route.counters().slow_readers, 0U);
        p.stream().close(true);
    });
}

// A message of this process that it keeps no more, of a topic that had none for a while.
TEST(websocket_topic_buses, take_back_from_a_bus_what_they_had_no_room_for) {
    const auto bus = std::make_shared<quiet_bus>();
    websocket::topics topics({.retained = 1}, bus);
    http::router routes;
    websocket::route(routes, "/ws", [&](websocket::connection& ws) -> task<> {
        topics.publish("t", "", true);
        topics.publish("t", "kept", true);
        topics.publish("other", "kept", true);
        const auto all = topics.subscribe(ws, "t");
        bus->receiver->restore("t", "t", message_type::text, "kept", 0);
        co_await ws.closed();
    });
    chat_world w(1, routes);
    w.run([&](chat_world& in) -> task<> {
        raw_peer p = co_await in.connect();
        co_await p.shake_hands("/ws");
        const std::string text = co_await p.read_text();
        EXPECT_EQ(text, "kept");
        p.stream().close(true);
    });
}

TEST(websocket_topic_buses, forget_a_pattern_that_a_bus_has_no_room_for) {
    struct full_bus final : websocket::topic_bus {
        void start(websocket::topic_receiver&) override {}
        void stop() noexcept override {}
        void publish(std::string_view, message_type, std::string_view, bool) override {}
        void subscribe(std::string_view) override {
            if (is_full) throw std::bad_alloc();
            ++subscribed;
        }
        void unsubscribe(std::string_view) noexcept override {}
        bool is_full = true;
        int subscribed = 0;
    };
    auto bus = std::make_shared<full_bus>();
    websocket::topics topics({}, bus);
    int heard = 0;
    const auto handler = [&](websocket::connection& ws) -> task<> {
        bus->is_full = true;
        bus->subscribed = 0;
        EXPECT_THROW(static_cast<void>(topics.subscribe(ws, "room.*")), std::bad_alloc);
        EXPECT_EQ(topics.presence("room.*"), 0U);
        bus->is_full = false;
        const auto there = topics.subscribe(ws, "room.*");
        EXPECT_EQ(bus->subscribed, 1);
        topics.publish("room.a", "hello");
        ++heard;
        co_await sleep_for(1s);
    };
    on_route({}, handler, [](chat_world& w, const auto&) -> task<> {
        raw_peer p = co_await w.connect();
        co_await p.shake_hands("/ws");
        const auto first = co_await p.read();
        EXPECT_EQ(first.payload, "hello");
        co_await p.read_close();
    });
    EXPECT_GT(heard, 0);
}

TEST(websocket_topic_buses, use_a_bus_to_other_processes) {
    auto bus = std::make_shared<noting_bus>();
    websocket::topics topics({}, bus);
    http::router routes;
    websocket::route(routes, "/ws", member_of(topics));
    chat_world w(1, routes);
    w.run([&](chat_world&) -> task<> {
        http::client client;
        auto a = co_await join(client, "to=room.*");
        auto b = co_await join(client, "to=room.*");
        co_await sleep_for(1s);
        bus->receiver->deliver("room.x", message_type::text, "from afar", false);
        bus->receiver->missed();
        const std::string heard = co_await hear(a);
        EXPECT_EQ(heard, "from afar");
        co_await a.send("room.y here");
        const std::string again = co_await hear(a);
        EXPECT_EQ(again, "here");
        co_await a.close();
        co_await b.close();
    });
    EXPECT_EQ(bus->notes, "subscribe room.*\npublish room.y here\nunsubscribe room.*\n");
    EXPECT_EQ(topics.counters().gaps, 1U);
}

TEST(websocket_topic_buses, restore_what_others_have_retained_once_and_never_over_what_is_newer) {
    auto bus = std::make_shared<noting_bus>();
    websocket::topics topics({}, bus);
    http::router routes;
    websocket::route(routes, "/ws", member_of(topics));
    chat_world w(1, routes);
    w.run([&](chat_world&) -> task<> {
        http::client client;
        auto all = co_await join(client, "to=t.*");
        auto one = co_await join(client, "to=t.x");
        co_await sleep_for(1s);
        websocket::topic_receiver& r = *bus->receiver;
        // To those whose pattern it was fetched for; once.
        std::uint64_t mark = r.mark();
        r.restore("t.x", "t.x", message_type::text, "first", mark);
        r.restore("t.x", "t.x", message_type::text, "first", mark);
        r.restore("t.*", "t.x", message_type::text, "first", mark);
        EXPECT_EQ(topics.retained("t.x"), "first");
        // A message that has come since then is newer.
        mark = r.mark();
        r.deliver("t.x", message_type::text, "second", true);
        r.restore("", "t.x", message_type::text, "first", mark);
        EXPECT_EQ(topics.retained("t.x"), "second");
        // So is what was published here, and what was forgotten.
        mark = r.mark();
        topics.publish("t.x", "", true);
        r.restore("", "t.x", message_type::text, "second", mark);
        EXPECT_EQ(topics.retained("t.x"), std::nullopt);
        // One that was missed goes to all.
        r.restore("", "t.x", message_type::text, "third", r.mark());
        for (const char* expected : {"first", "second", "", "third"}) {
            const std::string heard = co_await hear(one);
            EXPECT_EQ(heard, expected);
        }
        for (const char* expected : {"second", "", "third"}) {
            const std::string heard = co_await hear(all);
            EXPECT_EQ(heard, expected);
        }
        // Those who come later get what was restored.
        auto late = co_await join(client, "to=t.x");
        const std::string heard = co_await hear(late);
        EXPECT_EQ(heard, "third");
        co_await all.close();
        co_await one.close();
        co_await late.close();
    });
}
