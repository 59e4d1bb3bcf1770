// Two buses on one server, as in two processes: what goes across and how often, what was retained,
// a server that goes, comes back and stands still.

#include "integration/redis/redis_world.hpp"
#include "redis/bus_message.hpp"

#include <coracle/redis/topic_bus.hpp>
#include <coracle/testing/scripted_peer.hpp>

#include <condition_variable>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace {

using namespace redis_world;
using coracle::testing::script;
using coracle::testing::scripted_peer;
using redis::topic_bus;
using redis::topic_bus_options;
using websocket::message_type;

/// Stands for the topics of a process.
class noting_receiver final : public websocket::topic_receiver {
public:
    void deliver(std::string_view topic, message_type type, std::string_view bytes,
                 bool retain) override {
        if (fails_next_.exchange(false)) throw std::bad_alloc();
        if (retain) keep(topic, bytes);
        note(std::string(topic) + ' ' + std::string(bytes) +
             (type == message_type::binary ? " binary" : "") + (retain ? " retained" : ""));
    }
    void missed() noexcept override {
        const std::lock_guard lock(guard_);
        ++gaps_;
        changed_.notify_all();
    }
    std::uint64_t mark() const noexcept override { return 1; }
    void restore(std::string_view pattern, std::string_view topic, message_type,
                 std::string_view bytes, std::uint64_t since) override {
        // As the topics do: what is known already is dropped.
        if (!keep(topic, bytes)) return;
        note('[' + std::string(pattern) + "] " + std::string(topic) + ' ' + std::string(bytes) +
             (since == 0 ? " (own)" : ""));
    }

    /// Waits until so many have come, for ten seconds at most, and gives them all.
    std::vector<std::string> wait_for(std::size_t n) {
        std::unique_lock lock(guard_);
        changed_.wait_for(lock, 30s, [&] { return notes_.size() >= n; });
        return notes_;
    }
    bool wait_for_gap(int n = 1) {
        std::unique_lock lock(guard_);
        return changed_.wait_for(lock, 30s, [&] { return gaps_ >= n; });
    }
    void clear() {
        const std::lock_guard lock(guard_);
        notes_.clear();
    }
    /// Has no memory for the next message.
    void fail_next() { fails_next_ = true; }

private:
    bool keep(std::string_view topic, std::string_view bytes) {
        const std::lock_guard lock(guard_);
        std::string& kept = kept_[std::string(topic)];
        if (kept == bytes) return false;
        kept = bytes;
        return true;
    }
    void note(std::string text) {
        const std::lock_guard lock(guard_);
        notes_.push_back(std::move(text));
        changed_.notify_all();
    }
    std::mutex guard_;
    std::condition_variable changed_;
    std::vector<std::string> notes_;
    std::map<std::string, std::string> kept_;
    int gaps_ = 0;
    std::atomic<bool> fails_next_ = false;
};

topic_bus_options quick() {
    topic_bus_options o;
    o.password = secret("pw");
    o.first_delay = 5ms;
    o.longest_delay = 20ms;
    o.publish_timeout = 30s;
    return o;
}

bool holds(auto condition) {
    auto waiting = [&]() -> task<bool> {
        auto held = co_await eventually(condition);
        co_return held;
    };
    return block_on(waiting);
}

/// A process, without its connections.
struct node {
    explicit node(const redis_server& server, topic_bus_options o = quick())
        : bus(server.url(), std::move(o)) {
        bus.start(receiver);
    }
    ~node() { bus.stop(); }
    node(const node&) = delete;
    node& operator=(const node&) = delete;

    void subscribe(std::string_view pattern, std::size_t channels) {
        bus.subscribe(pattern);
        EXPECT_TRUE(stands(channels)) << pattern;
    }
    bool stands(std::size_t channels) {
        return holds(
            [&] { return bus.is_connected() && bus.counters().subscriptions == channels; });
    }
    void publish(std::string_view topic, std::string_view text, bool retain = false) {
        bus.publish(topic, message_type::text, text, retain);
    }

    noting_receiver receiver;
    topic_bus bus;
};

class redis_topic_bus : public redis_test {
protected:
    void SetUp() override {
        redis_test::SetUp();
        if (!IsSkipped()) {
            server =
                std::make_unique<redis_server>(std::vector<std::string>{"--requirepass", "pw"});
        }
    }
    std::unique_ptr<redis_server> server;
};

using texts = std::vector<std::string>;

}  // namespace

TEST_F(redis_topic_bus, connects_again_where_there_was_no_memory_for_a_message) {
    node a(*server);
    node b(*server);
    b.subscribe("t", 1);
    b.receiver.fail_next();
    a.publish("t", "lost");
    EXPECT_TRUE(b.receiver.wait_for_gap());
    EXPECT_TRUE(b.stands(1));
    a.publish("t", "kept");
    EXPECT_EQ(b.receiver.wait_for(1), texts{"t kept"});
}

TEST_F(redis_topic_bus, of_another_database_is_another_bus) {
    node a(*server);
    noting_receiver other;
    topic_bus bus(server->url() + "?db=1", quick());
    bus.start(other);
    bus.subscribe(">");
    bus.subscribe("room.x");
    EXPECT_TRUE(holds([&] { return bus.is_connected() && bus.counters().subscriptions == 2; }));
    a.subscribe("room.x", 1);
    a.publish("room.x", "of 0");
    bus.publish("room.x", message_type::text, "of 1", false);
    // A copy for each of its patterns.
    EXPECT_TRUE(holds([&] { return bus.counters().echoes == 2; }));
    EXPECT_TRUE(holds([&] { return a.bus.counters().echoes == 1; }));
    EXPECT_EQ(bus.counters().received + bus.counters().unwanted + bus.counters().foreign, 0U);
    EXPECT_EQ(a.bus.counters().received + a.bus.counters().foreign, 0U);
    bus.stop();
}

TEST_F(redis_topic_bus, carries_messages_to_the_other_process_in_order_and_not_back) {
    node a(*server);
    node b(*server);
    a.subscribe("room.x", 1);
    b.subscribe("room.x", 1);
    const std::string binary("a\0\r\n", 4);
    a.bus.publish("room.x", message_type::binary, binary, false);
    a.publish("room.y", "nobody there");
    texts expected = {"room.x " + binary + " binary"};
    for (int i = 0; i < 500; ++i) {
        a.publish("room.x", std::to_string(i));
        expected.push_back("room.x " + std::to_string(i));
    }
    EXPECT_EQ(b.receiver.wait_for(501), expected);
    b.publish("room.x", "back");
    EXPECT_EQ(a.receiver.wait_for(1), texts{"room.x back"});
    EXPECT_TRUE(holds([&] { return a.bus.counters().echoes == 501; }));
    EXPECT_TRUE(holds([&] { return a.bus.counters().published == 502; }));
    EXPECT_EQ(a.bus.counters().dropped, 0U);
}

TEST_F(redis_topic_bus, delivers_once_what_several_patterns_match_and_nothing_that_none_does) {
    node a(*server);
    node b(*server);
    node c(*server);
    b.subscribe("room.x", 1);
    b.subscribe("room.*", 2);
    b.subscribe("room.>", 2);
    b.subscribe("*.x", 3);
    c.subscribe("room.*", 1);
    a.publish("room.x", "one");
    a.publish("room.x.y", "two");
    a.publish("hall.x", "three");
    a.publish("room.z", "four");
    EXPECT_EQ(b.receiver.wait_for(4),
              (texts{"room.x one", "room.x.y two", "hall.x three", "room.z four"}));
    EXPECT_EQ(b.bus.counters().duplicates, 2U);
    EXPECT_EQ(c.receiver.wait_for(2), (texts{"room.x one", "room.z four"}));
    EXPECT_EQ(c.bus.counters().unwanted, 1U);
    c.bus.unsubscribe("room.*");
    EXPECT_TRUE(c.stands(0));
    b.publish("room.z", "five");
    EXPECT_TRUE(holds([&] { return b.bus.counters().echoes == 1; }));
    EXPECT_EQ(c.receiver.wait_for(2).size(), 2U);
}

TEST_F(redis_topic_bus, gives_what_was_retained_to_those_who_come_later) {
    topic_bus_options o = quick();
    o.retained = 3;
    node a(*server, o);
    a.publish("t.0", "forgotten by the limit", true);
    a.publish("t.1", "old", true);
    a.publish("t.1", "new", true);
    a.publish("t.2", "two", true);
    a.publish("t.3", "gone", true);
    a.publish("t.3", "", true);
    a.publish("t[4]", "four", true);
    a.publish("t.5", "five", true);
    ASSERT_TRUE(holds([&] { return a.bus.counters().published == 8; }));
    node b(*server, o);
    b.subscribe("t.2", 1);
    // t.2 is still there, t.1 is the one that had to go.
    EXPECT_EQ(b.receiver.wait_for(1), texts{"[t.2] t.2 two"});
    b.receiver.clear();
    b.subscribe("t.*", 2);
    EXPECT_EQ(b.receiver.wait_for(1), texts{"[t.*] t.5 five"});
    b.receiver.clear();
    b.subscribe("t[4]", 3);
    EXPECT_EQ(b.receiver.wait_for(1), texts{"[t[4]] t[4] four"});
}

// One that came later may have been dropped on its way to the server.
TEST_F(redis_topic_bus, tells_its_own_messages_from_those_of_others) {
    node a(*server);
    node b(*server);
    a.publish("t.x", "of a", true);
    ASSERT_TRUE(holds([&] { return a.bus.counters().published == 1; }));
    a.subscribe("t.x", 1);
    EXPECT_EQ(a.receiver.wait_for(1), texts{"[t.x] t.x of a (own)"});
    b.subscribe("t.*", 1);
    EXPECT_EQ(b.receiver.wait_for(1), texts{"[t.*] t.x of a"});
}

TEST_F(redis_topic_bus, comes_back_with_the_server_and_tells_of_the_gap) {
    std::mutex guard;
    std::vector<redis::topic_gap> gaps;
    topic_bus_options o = quick();
    o.on_gap = [&](const redis::topic_gap& g) {
        const std::lock_guard lock(guard);
        gaps.push_back(g);
    };
    node a(*server);
    node b(*server, o);
    b.subscribe("room.x", 1);
    b.subscribe("room.*", 2);
    a.subscribe("other", 1);
    a.publish("room.x", "before");
    EXPECT_EQ(b.receiver.wait_for(1), texts{"room.x before"});
    b.receiver.clear();
    server->stop();
    EXPECT_TRUE(holds([&] { return !b.bus.is_connected() && !a.bus.is_connected(); }));
    a.publish("room.x", "while away");
    server->start();
    EXPECT_TRUE(b.receiver.wait_for_gap());
    EXPECT_TRUE(a.receiver.wait_for_gap());
    EXPECT_TRUE(b.stands(2));
    // It is dropped where the connection that carries it has not noticed the end of the server yet.
    EXPECT_TRUE(holds([&] {
        const auto c = a.bus.counters();
        return c.published + c.dropped == 2;
    }));
    a.publish("room.x", "after");
    EXPECT_TRUE(holds([&] { return b.bus.counters().received >= 2; }));
    // A message that was published meanwhile comes once or never, and nothing comes twice.
    texts came = b.receiver.wait_for(1);
    if (came.size() < 2) came = b.receiver.wait_for(came.back() == "room.x after" ? 1 : 2);
    EXPECT_EQ(came.back(), "room.x after");
    EXPECT_LE(came.size(), 2U);
    EXPECT_TRUE(came.size() == 1 || came.front() == "room.x while away");
    const std::lock_guard lock(guard);
    ASSERT_EQ(gaps.size(), 1U);
    EXPECT_GT(gaps[0].away, 0ms);
    EXPECT_EQ(b.bus.counters().gaps, 1U);
    EXPECT_EQ(b.bus.counters().connections, 2U);
}

TEST_F(redis_topic_bus, fetches_again_after_a_gap_what_is_retained) {
    node a(*server);
    node b(*server);
    b.subscribe("t.x", 1);
    a.publish("t.x", "known", true);
    EXPECT_EQ(b.receiver.wait_for(1), texts{"t.x known retained"});
    b.receiver.clear();
    server->stop();
    server->start();
    EXPECT_TRUE(b.receiver.wait_for_gap());
    // Its data went with the server: what another process publishes before b is back stands for it.
    a.publish("t.x", "newer", true);
    const texts came = b.receiver.wait_for(1);
    ASSERT_FALSE(came.empty());
    EXPECT_TRUE(came[0] == "t.x newer retained" || came[0] == "[] t.x newer") << came[0];
}

TEST_F(redis_topic_bus, may_have_no_limit) {
    topic_bus_options o = quick();
    o.queued = std::numeric_limits<std::size_t>::max();
    node a(*server, o);
    node b(*server);
    b.subscribe("room.x", 1);
    a.publish("room.x", "one");
    EXPECT_EQ(b.receiver.wait_for(1), texts{"room.x one"});
    EXPECT_EQ(a.bus.counters().dropped, 0U);
}

TEST_F(redis_topic_bus, drops_and_counts_what_a_slow_server_does_not_take) {
    topic_bus_options o = quick();
    o.queued = 10;
    o.publish_timeout = 20s;
    node a(*server, o);
    node b(*server);
    b.subscribe("room.x", 1);
    a.publish("room.x", "first");
    EXPECT_EQ(b.receiver.wait_for(1).size(), 1U);
    ASSERT_TRUE(holds([&] { return a.bus.counters().published == 1; }));
    server->freeze();
    texts expected = {"room.x first"};
    for (int i = 0; i < 30; ++i) a.publish("room.x", std::to_string(i));
    EXPECT_EQ(a.bus.counters().dropped, 20U);
    for (int i = 0; i < 10; ++i) expected.push_back("room.x " + std::to_string(i));
    server->thaw();
    EXPECT_EQ(b.receiver.wait_for(11), expected);
    ASSERT_TRUE(holds([&] { return a.bus.counters().published == 11; }));
    a.publish("room.x", "last");
    expected.emplace_back("room.x last");
    EXPECT_EQ(b.receiver.wait_for(12), expected);
}

TEST_F(redis_topic_bus, notices_a_server_that_stands_still) {
    topic_bus_options o = quick();
    o.ping = 500ms;
    o.connect_timeout = 500ms;
    node b(*server, o);
    b.subscribe("room.x", 1);
    // A server that lives replies to PING, so nothing happens for many times that long; unless the
    // machine is so busy that it replies late.
    bool lives = false;
    for (int i = 0; i != 5 && !lives; ++i) {
        const std::uint64_t connections = b.bus.counters().connections;
        block_on([]() -> task<> { co_await sleep_for(1500ms); });
        lives = b.bus.counters().connections == connections;
    }
    EXPECT_TRUE(lives);
    server->freeze();
    EXPECT_TRUE(holds([&] { return !b.bus.is_connected(); }));
    server->thaw();
    EXPECT_TRUE(b.receiver.wait_for_gap());
    EXPECT_TRUE(b.stands(1));
}

TEST_F(redis_topic_bus, leaves_out_what_no_bus_has_published) {
    node b(*server);
    b.subscribe("room.x", 1);
    redis::client_options o;
    o.password = secret("pw");
    block_on([&]() -> task<> {
        redis::client c(server->url(), o);
        co_await c.command("PUBLISH", "coracle:room.x", "by hand");
        const std::string short_one("CT1\0", 4);
        co_await c.command("PUBLISH", "coracle:room.x", short_one);
    });
    EXPECT_TRUE(holds([&] { return b.bus.counters().foreign == 2; }));
    EXPECT_TRUE(b.receiver.wait_for(0).empty());
}

TEST_F(redis_topic_bus, ends_while_the_server_is_away) {
    topic_bus_options o = quick();
    o.drain = 20ms;
    {
        node a(*server, o);
        a.subscribe("room.x", 1);
        server->stop();
        a.publish("room.x", "never leaves");
    }
    topic_bus_options wrong = o;
    wrong.password = secret("wrong");
    wrong.publish_timeout = 20ms;
    server->start();
    node b(*server, wrong);
    b.bus.subscribe("room.x");
    b.publish("room.x", "refused");
    EXPECT_TRUE(holds([&] { return b.bus.counters().dropped == 1; }));
    EXPECT_FALSE(b.bus.is_connected());
}

namespace {

/// The end of one message, as the server of a bus sends it on to "coracle:t.x".
std::string bulk_of(std::string_view payload, bool retain) {
    redis::detail::bus_message m;
    m.from = {1, 2};
    m.number = 3;
    m.retain = retain;
    m.payload = payload;
    const std::string bytes = m.encode();
    return '$' + std::to_string(bytes.size()) + "\r\n" + bytes + "\r\n";
}

const std::string channel = "$11\r\ncoracle:t.x\r\n";
const std::string message_head = "*3\r\n$7\r\nmessage\r\n" + channel;
const std::string confirmed = "*3\r\n$9\r\nsubscribe\r\n" + channel + ":1\r\n";
const std::string pong_amid_subscriptions = "*2\r\n$4\r\npong\r\n$0\r\n\r\n";

/// A connection up to the SUBSCRIBE, to which it has not replied yet.
script until_subscribed() {
    script s;
    s.read_until("PING\r\n").send("+PONG\r\n").read_until("coracle:t.x\r\n");
    return s;
}

/// The connection for commands, on which nothing is retained.
script without_retained() {
    script s;
    s.read_until("PING\r\n").send("+PONG\r\n");
    for (int i = 0; i != 2; ++i) s.read_until("HGET\r\n").read_until("t.x\r\n").send("$-1\r\n");
    s.read_to_end();
    return s;
}

/// Subscribes to t.x at a server of these scripts until "once" has come, which must come once,
/// behind one gap.
void expect_once_behind_a_gap(std::vector<script> scripts) {
    scripted_peer server(std::move(scripts));
    noting_receiver r;
    topic_bus_options o = quick();
    o.password = {};
    topic_bus bus("redis://127.0.0.1:" + std::to_string(server.port()), o);
    bus.start(r);
    bus.subscribe("t.x");
    EXPECT_EQ(r.wait_for(1), texts{"t.x once"});
    EXPECT_TRUE(holds([&] { return bus.counters().gaps == 1; }));
    EXPECT_EQ(bus.counters().connections, 2U);
    EXPECT_TRUE(bus.is_connected());
    bus.stop();
    EXPECT_EQ(r.wait_for(1), texts{"t.x once"});
    EXPECT_EQ(bus.counters().gaps, 1U);
}

/// Subscribes to t.x at a server of these scripts until this message has come, over the connection
/// that was opened first.
void expect_on_one_connection(std::vector<script> scripts, const char* message, duration ping) {
    scripted_peer server(std::move(scripts));
    noting_receiver r;
    topic_bus_options o = quick();
    o.password = {};
    o.ping = ping;
    topic_bus bus("redis://127.0.0.1:" + std::to_string(server.port()), o);
    bus.start(r);
    bus.subscribe("t.x");
    EXPECT_EQ(r.wait_for(1), texts{message});
    EXPECT_EQ(bus.counters().connections, 1U);
    bus.stop();
}

}  // namespace

TEST(redis_topic_bus_hostile, server_that_closes_amid_a_message_is_connected_to_again) {
    script cut = until_subscribed();
    // By the second PING the other connection has asked for what is retained.
    cut.send(confirmed)
        .read_until("PING\r\n")
        .send(message_head + bulk_of("cut", false).substr(0, 20));
    script whole = until_subscribed();
    whole.send(confirmed).read_until("PING\r\n");
    whole.send(message_head + bulk_of("once", false) + pong_amid_subscriptions).read_to_end();
    expect_once_behind_a_gap({cut, without_retained(), whole});
}

TEST(redis_topic_bus_hostile, server_that_closes_before_all_stands_makes_the_gap_longer) {
    script cut = until_subscribed();
    cut.send(confirmed).read_until("PING\r\n");
    script again = until_subscribed();
    again.pause(150ms);
    script whole = until_subscribed();
    whole.send(confirmed).read_until("PING\r\n");
    whole.send(message_head + bulk_of("once", false) + pong_amid_subscriptions).read_to_end();
    const scripted_peer server({cut, without_retained(), again, whole});
    std::mutex guard;
    std::vector<redis::topic_gap> gaps;
    noting_receiver r;
    topic_bus_options o = quick();
    o.password = {};
    o.on_gap = [&](const redis::topic_gap& g) {
        const std::lock_guard lock(guard);
        gaps.push_back(g);
    };
    topic_bus bus("redis://127.0.0.1:" + std::to_string(server.port()), o);
    bus.start(r);
    bus.subscribe("t.x");
    EXPECT_EQ(r.wait_for(1), texts{"t.x once"});
    bus.stop();
    ASSERT_EQ(gaps.size(), 1U);
    EXPECT_GE(gaps[0].away, 150ms);
}

TEST(redis_topic_bus_hostile, server_that_cuts_the_connection_for_commands_is_asked_again) {
    script cut;
    cut.read_until("PING\r\n").send("+PONG\r\n").read_until("HGET\r\n").cut();
    script whole;
    whole.read_until("PING\r\n").send("+PONG\r\n");
    whole.read_until("HGET\r\n").read_until("t.x\r\n").send(bulk_of("once", true)).read_to_end();
    script subscribed = until_subscribed();
    subscribed.send(confirmed);
    for (int i = 0; i != 5; ++i) subscribed.read_until("PING\r\n").send(pong_amid_subscriptions);
    subscribed.read_to_end();
    scripted_peer server({subscribed, cut, whole});
    noting_receiver r;
    topic_bus_options o = quick();
    o.password = {};
    topic_bus bus("redis://127.0.0.1:" + std::to_string(server.port()), o);
    bus.start(r);
    bus.subscribe("t.x");
    EXPECT_EQ(r.wait_for(1), texts{"[t.x] t.x once"});
    bus.stop();
}

// A page of what is retained that is larger than a reply may be.
TEST(redis_topic_bus_hostile, server_whose_pages_are_too_large_is_asked_for_smaller_ones) {
    script large;
    large.read_until("PING\r\n").send("+PONG\r\n").read_until("HSCAN\r\n");
    large.read_until("\r\n20\r\n").send("*2\r\n$1\r\n0\r\n*2\r\n$3\r\nt.x\r\n$999\r\n");
    large.send(std::string(999, 'x') + "\r\n").read_to_end();
    script small;
    small.read_until("PING\r\n").send("+PONG\r\n").read_until("HSCAN\r\n").read_until("\r\n1\r\n");
    small.send("*2\r\n$1\r\n0\r\n*2\r\n$3\r\nt.x\r\n" + bulk_of("once", true)).read_to_end();
    script subscribed;
    subscribed.read_until("PING\r\n").send("+PONG\r\n").read_until("coracle:t.*\r\n");
    subscribed.send("*3\r\n$10\r\npsubscribe\r\n$11\r\ncoracle:t.*\r\n:1\r\n");
    for (int i = 0; i != 5; ++i) subscribed.read_until("PING\r\n").send(pong_amid_subscriptions);
    subscribed.read_to_end();
    scripted_peer server({subscribed, large, small});
    noting_receiver r;
    topic_bus_options o = quick();
    o.password = {};
    o.reply.bytes = 512;
    topic_bus bus("redis://127.0.0.1:" + std::to_string(server.port()), o);
    bus.start(r);
    bus.subscribe("t.*");
    EXPECT_EQ(r.wait_for(1), texts{"[t.*] t.x once"});
    bus.stop();
}

// A user who may not ping: the refusal comes in its turn, as the reply would.
TEST(redis_topic_bus_hostile, server_that_refuses_to_be_pinged_is_known_to_live) {
    const std::string refused = "-NOPERM User app has no permissions to run the 'ping' command\r\n";
    script subscribed;
    subscribed.read_until("PING\r\n").send(refused).read_until("coracle:t.x\r\n").send(confirmed);
    subscribed.read_until("PING\r\n").send(refused);
    subscribed.send(message_head + bulk_of("last", false)).read_to_end();
    script commands;
    commands.read_until("PING\r\n").send(refused);
    for (int i = 0; i != 2; ++i)
        commands.read_until("HGET\r\n").read_until("t.x\r\n").send("$-1\r\n");
    commands.read_to_end();
    expect_on_one_connection({subscribed, commands}, "t.x last", 3s);
}

// The reply to PING stands behind it.
TEST(redis_topic_bus_hostile, server_that_sends_a_message_slowly_is_not_silent) {
    const std::string message = message_head + bulk_of("slow", false);
    script slow = until_subscribed();
    slow.send(confirmed).read_until("PING\r\n");
    const std::size_t piece = message.size() / 3 + 1;
    for (std::size_t at = 0; at < message.size(); at += piece) {
        slow.send(message.substr(at, piece)).pause(1s);
    }
    slow.send(pong_amid_subscriptions).read_to_end();
    expect_on_one_connection({slow, without_retained()}, "t.x slow", 1500ms);
}

TEST(redis_topic_bus_hostile, server_that_refuses_is_asked_again) {
    script refusing = until_subscribed();
    refusing.send("-NOPERM this user has no permissions to access one of the channels\r\n")
        .read_to_end();
    script whole = until_subscribed();
    whole.send(confirmed).read_until("PING\r\n");
    whole.send(message_head + bulk_of("once", false) + pong_amid_subscriptions).read_to_end();
    expect_once_behind_a_gap({refusing, whole, without_retained()});
}

TEST(redis_topic_bus_hostile, server_that_takes_no_message_costs_that_one_alone) {
    script subscriptions;
    subscriptions.read_until("PING\r\n").send("+PONG\r\n").read_to_end();
    script commands;
    commands.read_until("PING\r\n").send("+PONG\r\n").read_until("PUBLISH\r\n").read_until("first");
    commands.send("-OOM command not allowed when used memory > 'maxmemory'.\r\n");
    commands.read_until("PUBLISH\r\n").read_until("second").send(":1\r\n").read_to_end();
    noting_receiver r;
    scripted_peer server(std::vector<script>{subscriptions, commands});
    topic_bus bus("redis://127.0.0.1:" + std::to_string(server.port()));
    bus.start(r);
    EXPECT_TRUE(holds([&] { return bus.is_connected(); }));
    bus.publish("t.x", message_type::text, "first", false);
    EXPECT_TRUE(holds([&] { return bus.counters().dropped == 1; }));
    bus.publish("t.x", message_type::text, "second", false);
    EXPECT_TRUE(holds([&] { return bus.counters().published == 1; }));
    EXPECT_EQ(bus.counters().dropped, 1U);
    bus.stop();
}

// A message that is retained while another process fetches comes there twice: in the reply, and by
// itself. This server sends the second only when it is asked whether there is more.
TEST(redis_topic_bus_race, message_goes_before_the_same_one_that_was_fetched) {
    const std::string bulk = bulk_of("once", true);
    script subscriptions = until_subscribed();
    subscriptions.send(confirmed).read_until("PING\r\n");
    subscriptions.send(message_head + bulk + pong_amid_subscriptions).read_to_end();
    script commands;
    commands.read_until("PING\r\n").send("+PONG\r\n").read_until("HGET\r\n");
    commands.read_until("t.x\r\n").send(bulk).read_to_end();
    scripted_peer server(std::vector<script>{subscriptions, commands});
    noting_receiver r;
    topic_bus bus("redis://127.0.0.1:" + std::to_string(server.port()));
    bus.start(r);
    bus.subscribe("t.x");
    EXPECT_EQ(r.wait_for(1), texts{"t.x once retained"});
    EXPECT_TRUE(holds([&] { return bus.counters().restored == 1; }));
    bus.stop();
    EXPECT_EQ(r.wait_for(1), texts{"t.x once retained"});
}

TEST(redis_topic_bus_url, that_is_none_keeps_everything_inside_the_process) {
    noting_receiver r;
    topic_bus bus("http://x");
    bus.start(r);
    bus.subscribe("a");
    bus.publish("a", message_type::text, "x", false);
    EXPECT_TRUE(holds([&] { return bus.counters().dropped == 1; }));
    bus.stop();
}
