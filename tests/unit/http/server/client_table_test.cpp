#include "http/server/client_table.hpp"

#include <gtest/gtest.h>

namespace coracle::http::detail {
namespace {

net::address at(const char* text) {
    return *net::address::parse(text);
}

TEST(client_table, has_a_number_of_places_for_each_client) {
    client_table t(2);
    EXPECT_TRUE(t.take(at("192.0.2.1:1")));
    EXPECT_TRUE(t.take(at("192.0.2.1:2")));
    EXPECT_FALSE(t.take(at("192.0.2.1:3")));
    EXPECT_TRUE(t.take(at("192.0.2.2:3")));
    t.give_back(at("192.0.2.1:1"));
    EXPECT_TRUE(t.take(at("192.0.2.1:3")));
    EXPECT_FALSE(t.take(at("192.0.2.1:4")));
}

TEST(client_table, forgets_a_client_that_was_refused_and_one_that_has_left) {
    client_table t(1);
    for (int i = 0; i != 3; ++i) {
        EXPECT_TRUE(t.take(at("192.0.2.1:1")));
        EXPECT_FALSE(t.take(at("192.0.2.1:2")));
        t.give_back(at("192.0.2.1:1"));
    }
}

TEST(client_table, knows_an_ipv4_address_however_it_is_written) {
    client_table t(1);
    EXPECT_TRUE(t.take(at("192.0.2.1:1")));
    EXPECT_FALSE(t.take(at("[::ffff:192.0.2.1]:1")));
    EXPECT_TRUE(t.take(at("[::ffff:192.0.2.2]:1")));
}

TEST(client_table, takes_the_addresses_of_one_ipv6_network_for_one_client) {
    client_table t(1);
    EXPECT_TRUE(t.take(at("[2001:db8:1:2::1]:1")));
    EXPECT_FALSE(t.take(at("[2001:db8:1:2:ffff::2]:1")));
    EXPECT_TRUE(t.take(at("[2001:db8:1:3::1]:1")));
}

TEST(client_table, does_not_count_clients_of_unix_sockets) {
    client_table t(1);
    for (int i = 0; i != 3; ++i) EXPECT_TRUE(t.take(at("unix:/run/x")));
    t.give_back(at("unix:/run/x"));
}

}  // namespace
}  // namespace coracle::http::detail
