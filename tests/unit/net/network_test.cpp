#include <coracle/net/network.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace coracle::net;

namespace {

bool holds(std::string_view network_text, std::string_view ip) {
    const auto n = network::parse(network_text);
    EXPECT_TRUE(n.has_value()) << network_text;
    const auto a = parse_ip(ip, 99);
    EXPECT_TRUE(a.has_value()) << ip;
    return n && a && n->contains(*a);
}

TEST(network, holds_the_addresses_that_share_its_prefix) {
    EXPECT_TRUE(holds("10.0.0.0/8", "10.255.255.255"));
    EXPECT_FALSE(holds("10.0.0.0/8", "11.0.0.0"));
    EXPECT_TRUE(holds("172.16.0.0/12", "172.31.255.255"));
    EXPECT_FALSE(holds("172.16.0.0/12", "172.32.0.0"));
    EXPECT_FALSE(holds("172.16.0.0/12", "172.15.255.255"));
    EXPECT_TRUE(holds("192.0.2.128/25", "192.0.2.128"));
    EXPECT_FALSE(holds("192.0.2.128/25", "192.0.2.127"));
    EXPECT_TRUE(holds("2001:db8::/33", "2001:db8:7fff::1"));
    EXPECT_FALSE(holds("2001:db8::/33", "2001:db8:8000::1"));
}

TEST(network, may_be_one_address_or_all_of_them) {
    EXPECT_TRUE(holds("192.0.2.1", "192.0.2.1"));
    EXPECT_FALSE(holds("192.0.2.1", "192.0.2.0"));
    EXPECT_TRUE(holds("::1", "::1"));
    EXPECT_FALSE(holds("::1/128", "::2"));
    EXPECT_TRUE(holds("0.0.0.0/0", "203.0.113.9"));
    EXPECT_TRUE(holds("::/0", "2001:db8::1"));
}

TEST(network, a_mapped_address_counts_as_ipv4_and_others_do_not_mix) {
    EXPECT_TRUE(holds("10.0.0.0/8", "::ffff:10.1.2.3"));
    EXPECT_FALSE(holds("10.0.0.0/8", "::fffe:10.1.2.3"));
    EXPECT_FALSE(holds("::/0", "10.1.2.3"));
    EXPECT_TRUE(holds("::ffff:0:0/96", "::ffff:10.1.2.3"));
    for (const char* written : {"::ffff:10.0.0.0/104", "::ffff:10.1.2.3"}) {
        EXPECT_TRUE(holds(written, "10.1.2.3"));
        EXPECT_TRUE(holds(written, "::ffff:10.1.2.3"));
        EXPECT_FALSE(holds(written, "11.1.2.3"));
    }
    EXPECT_FALSE(holds("::/64", "10.1.2.3"));
    EXPECT_FALSE(holds("0.0.0.0/0", "::1"));
    EXPECT_FALSE(network::parse("0.0.0.0/0")->contains(address()));
}

TEST(network, unix_sockets_are_a_network_of_their_own) {
    const auto n = network::parse("unix:");
    ASSERT_TRUE(n.has_value());
    EXPECT_TRUE(n->contains(*address::parse("unix:/a")));
    EXPECT_FALSE(n->contains(*parse_ip("127.0.0.1")));
    EXPECT_FALSE(network::parse("::/0")->contains(*address::parse("unix:/a")));
}

TEST(network, one_of_several_is_enough) {
    const std::vector<network> networks = {*network::parse("10.0.0.0/8"), *network::parse("::1")};
    EXPECT_TRUE(is_in_any(networks, *parse_ip("10.1.2.3")));
    EXPECT_TRUE(is_in_any(networks, *parse_ip("::1")));
    EXPECT_FALSE(is_in_any(networks, *parse_ip("192.0.2.1")));
    EXPECT_FALSE(is_in_any({}, *parse_ip("10.1.2.3")));
}

TEST(network, what_it_reads_it_writes) {
    for (const char* text : {"10.0.0.0/8", "192.0.2.1", "::1", "2001:db8::/32", "::/0", "unix:"}) {
        EXPECT_EQ(network::parse(text)->to_string(), text);
    }
    EXPECT_EQ(network::parse("192.0.2.1/32")->to_string(), "192.0.2.1");
}

TEST(network, refuses_what_is_malformed_or_has_bits_behind_its_prefix) {
    for (const char* text :
         {"", "/8", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0/8",
          "10.1.0.0/8", "2001:db8::1/64", "localhost", "[::1]", "::1%1", "10.0.0.0/ 8", "unix"}) {
        EXPECT_FALSE(network::parse(text).has_value()) << text;
    }
    EXPECT_EQ(network::parse("10.1.0.0/8").error(), std::errc::invalid_argument);
}

TEST(network, stands_around_an_address) {
    const auto v4 = net::parse_ip("192.0.2.200").value();
    EXPECT_EQ(net::network::around(v4, 25).to_string(), "192.0.2.128/25");
    EXPECT_EQ(net::network::around(v4, 0).to_string(), "0.0.0.0/0");
    EXPECT_EQ(net::network::around(v4, 128).to_string(), "192.0.2.200");
    const auto v6 = net::parse_ip("2001:db8:ffff::1").value();
    EXPECT_EQ(net::network::around(v6, 33).to_string(), "2001:db8:8000::/33");
    EXPECT_TRUE(net::network::around(v6, 33).contains(v6));
}

}  // namespace
