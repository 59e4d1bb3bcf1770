// The messages and channels of a bus, without a server.

#include "redis/bus_channels.hpp"
#include "redis/bus_message.hpp"
#include "support/allocation_count.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace coracle;
using redis::detail::bus_channels;
using redis::detail::bus_message;

namespace {

/// The commands as one line: names and their channels.
std::string commands(bus_channels& c) {
    std::string bytes;
    while (c.take_commands(bytes)) {
    }
    std::string line;
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t end = bytes.find("\r\n", at);
        const std::string part = bytes.substr(at, end - at);
        at = end + 2;
        if (part.front() != '*' && part.front() != '$') line += part + ' ';
    }
    return line;
}

}  // namespace

TEST(redis_bus, a_channel_stands_once_its_last_subscription_is_confirmed) {
    bus_channels c("p");
    c.add("x");
    EXPECT_NE(commands(c), "");
    c.remove("x");
    EXPECT_NE(commands(c), "");
    c.add("x");
    EXPECT_NE(commands(c), "");
    // That of the first.
    EXPECT_TRUE(c.confirmed(false, "p:x").empty());
    EXPECT_FALSE(c.all_confirmed());
    EXPECT_EQ(c.confirmed(false, "p:x"), std::vector<std::string>{"x"});
    EXPECT_TRUE(c.all_confirmed());
    // Another connection owes nothing of this one.
    c.remove("x");
    EXPECT_NE(commands(c), "");
    c.add("x");
    EXPECT_NE(commands(c), "");
    c.forget_connection();
    EXPECT_NE(commands(c), "");
    EXPECT_EQ(c.confirmed(false, "p:x"), std::vector<std::string>{"x"});
}

TEST(redis_bus, messages_come_out_as_they_went_in) {
    const std::string payload("a\0b", 3);
    bus_message m;
    m.from = {0x0123456789abcdefU, 1};
    m.number = 77;
    m.type = websocket::message_type::binary;
    m.retain = true;
    m.payload = payload;
    const std::string bytes = m.encode();
    const auto read = bus_message::parse(bytes);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->from, m.from);
    EXPECT_EQ(read->number, 77U);
    EXPECT_EQ(read->type, m.type);
    EXPECT_TRUE(read->retain);
    EXPECT_EQ(read->payload, payload);
    for (std::size_t n = 0; n < bytes.size() - payload.size(); ++n) {
        EXPECT_FALSE(bus_message::parse(std::string_view(bytes).substr(0, n))) << n;
    }
    std::string foreign = bytes;
    foreign[3] = 8;
    EXPECT_FALSE(bus_message::parse(foreign));
    EXPECT_FALSE(bus_message::parse(std::string(100, 'x')));
}

TEST(redis_bus, patterns_become_globs) {
    using redis::detail::glob_of;
    EXPECT_EQ(glob_of("room.*"), "room.*");
    EXPECT_EQ(glob_of("room.>"), "room.*");
    EXPECT_EQ(glob_of("*.a[1]?.>"), "*.a\\[1\\]\\?.*");
    EXPECT_EQ(redis::detail::escape_glob("a*b"), "a\\*b");
}

TEST(redis_bus, subscribes_once_to_what_several_patterns_share) {
    bus_channels c("p");
    EXPECT_FALSE(c.add("room.a"));
    EXPECT_FALSE(c.add("room.*"));
    EXPECT_FALSE(c.add("room.>"));
    EXPECT_EQ(commands(c), "PSUBSCRIBE p:room.* SUBSCRIBE p:room.a ");
    EXPECT_EQ(commands(c), "");
    EXPECT_FALSE(c.all_confirmed());
    EXPECT_EQ(c.confirmed(false, "p:room.a"), std::vector<std::string>{"room.a"});
    EXPECT_EQ(c.confirmed(true, "p:room.*"), (std::vector<std::string>{"room.*", "room.>"}));
    EXPECT_TRUE(c.all_confirmed());
    EXPECT_EQ(c.confirmed_count(), 2U);
    // The glob stands: nothing has to be sent for another pattern.
    c.remove("room.*");
    EXPECT_EQ(commands(c), "");
    EXPECT_TRUE(c.add("room.*"));
    c.remove("room.*");
    c.remove("room.>");
    EXPECT_EQ(commands(c), "PUNSUBSCRIBE p:room.* ");
    c.remove("room.a");
    EXPECT_EQ(commands(c), "UNSUBSCRIBE p:room.a ");
    EXPECT_EQ(c.confirmed_count(), 0U);
}

TEST(redis_bus, says_nothing_about_what_came_and_went_meanwhile) {
    bus_channels c("p");
    c.add("a");
    c.remove("a");
    EXPECT_EQ(commands(c), "");
    EXPECT_TRUE(c.all_confirmed());
    c.add("a");
    EXPECT_EQ(commands(c), "SUBSCRIBE p:a ");
    c.remove("a");
    c.add("a");
    EXPECT_EQ(commands(c), "");
    // A confirmation of what is no longer wanted.
    c.remove("a");
    EXPECT_EQ(commands(c), "UNSUBSCRIBE p:a ");
    EXPECT_TRUE(c.confirmed(false, "p:a").empty());
    EXPECT_TRUE(c.all_confirmed());
}

TEST(redis_bus, tells_a_new_connection_everything) {
    bus_channels c("p");
    c.add("a");
    c.add("b.*");
    commands(c);
    c.confirmed(false, "p:a");
    c.confirmed(true, "p:b.*");
    c.add("gone");
    commands(c);
    c.remove("gone");
    c.forget_connection();
    EXPECT_FALSE(c.all_confirmed());
    EXPECT_EQ(commands(c), "PSUBSCRIBE p:b.* SUBSCRIBE p:a ");
}

TEST(redis_bus, many_channels_go_in_several_commands) {
    bus_channels c("p");
    for (int i = 0; i < 1200; ++i) c.add("room." + std::to_string(i));
    std::string bytes;
    int rounds = 0;
    while (c.take_commands(bytes)) ++rounds;
    EXPECT_EQ(rounds, 3);
}

TEST(redis_bus, wants_only_what_a_pattern_matches) {
    bus_channels c("p");
    c.add("room.*");
    EXPECT_EQ(c.topic_of("p:room.a.b"), "room.a.b");
    EXPECT_EQ(c.topic_of("q:room.a"), "");
    EXPECT_TRUE(c.wants(true, "p:room.*", "room.a"));
    // The glob of Redis goes across points.
    EXPECT_FALSE(c.wants(true, "p:room.*", "room.a.b"));
    EXPECT_FALSE(c.wants(false, "p:room.a", "room.a"));
    c.add("room.>");
    EXPECT_TRUE(c.wants(true, "p:room.*", "room.a.b"));
}

TEST(redis_bus, counts_its_channels_wherever_memory_fails) {
    if (!coracle::testing::counts_allocations())
        GTEST_SKIP() << "no allocation fails in this build";
    bool failed = true;
    for (std::size_t n = 1; failed; ++n) {
        bus_channels c("a prefix that is longer than what a string holds itself");
        failed = coracle::testing::fails_at(
            n, [&] { c.add("a pattern that is longer than what a string holds itself"); });
        const std::string pattern = "a pattern that is longer than what a string holds itself";
        c.add(pattern);
        EXPECT_FALSE(c.all_confirmed()) << n;
        commands(c);
        const std::string name =
            "a prefix that is longer than what a string holds itself:" + pattern;
        EXPECT_EQ(c.confirmed(false, name), std::vector<std::string>{pattern}) << n;
        EXPECT_TRUE(c.all_confirmed()) << n;
    }
}
