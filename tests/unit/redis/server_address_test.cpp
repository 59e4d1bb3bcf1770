#include "redis/server_address.hpp"

#include <gtest/gtest.h>

using coracle::redis::detail::server_address;

TEST(redis_server_address, reads_tcp_and_tls) {
    const auto plain = server_address::parse("redis://cache.example.com");
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->name(), "cache.example.com:6379");
    EXPECT_FALSE(plain->secure);
    EXPECT_EQ(plain->database, 0U);
    const auto full = server_address::parse("rediss://ada:p%40ss@[::1]:7000/3");
    ASSERT_TRUE(full);
    EXPECT_TRUE(full->secure);
    EXPECT_EQ(full->name(), "[::1]:7000");
    EXPECT_EQ(full->user, "ada");
    EXPECT_EQ(full->password.reveal(), "p@ss");
    EXPECT_EQ(full->database, 3U);
    const auto password_only = server_address::parse("redis://:secret@h/");
    ASSERT_TRUE(password_only);
    EXPECT_EQ(password_only->user, "");
    EXPECT_EQ(password_only->password.reveal(), "secret");
}

TEST(redis_server_address, reads_unix_sockets) {
    const auto plain = server_address::parse("unix:///run/redis.sock");
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->path, "/run/redis.sock");
    const auto full = server_address::parse("unix://ada:p%2Fw@/run/redis%20x.sock?db=2");
    ASSERT_TRUE(full);
    EXPECT_EQ(full->path, "/run/redis x.sock");
    EXPECT_EQ(full->user, "ada");
    EXPECT_EQ(full->password.reveal(), "p/w");
    EXPECT_EQ(full->database, 2U);
    const auto abstract = server_address::parse("unix://@redis");
    ASSERT_TRUE(abstract);
    EXPECT_EQ(abstract->path, "@redis");
}

TEST(redis_server_address, refuses_others_without_naming_the_password) {
    for (const char* bad : {"", "redis", "http://h", "redis://", "redis://h/x", "redis://h/1/2",
                            "redis://h?db=1", "unix://", "unix://run", "unix:///x?db=",
                            "unix:///x?name=1", "redis://u:hidden@h/-1", "redis://u:hidden@"}) {
        const auto read = server_address::parse(bad);
        ASSERT_FALSE(read) << bad;
        EXPECT_EQ(read.error().message().find("hidden"), std::string::npos) << bad;
    }
}
