#include "connect/destination_order.hpp"

#include <gtest/gtest.h>

#include <string>

using namespace coracle;

namespace {

std::string sorted(std::initializer_list<const char*> texts) {
    std::vector<net::address> all;
    for (const char* text : texts) all.push_back(net::address::parse(text).value());
    connect::sort_destinations(all);
    std::string out;
    for (const auto& a : all) out += (out.empty() ? "" : " ") + a.host();
    return out;
}

}  // namespace

TEST(destination_order, prefers_v6_and_keeps_the_order_within_a_family) {
    EXPECT_EQ(sorted({"192.0.2.1:0", "[2a00::2]:0", "192.0.2.0:0", "[2a00::1]:0"}),
              "2a00::2 2a00::1 192.0.2.1 192.0.2.0");
}

TEST(destination_order, puts_transition_and_unique_local_addresses_behind_v4) {
    EXPECT_EQ(sorted({"[fec0::1]:0", "[fd00::1]:0", "[2001::1]:0", "[2002::1]:0", "[2001:db8::1]:0",
                      "192.0.2.1:0"}),
              "2001:db8::1 192.0.2.1 2002::1 2001::1 fd00::1 fec0::1");
}

TEST(destination_order, prefers_loopback_then_the_smaller_scope) {
    EXPECT_EQ(sorted({"[2a00::1]:0", "[fe80::1%1]:0", "[::1]:0"}), "::1 fe80::1%1 2a00::1");
    EXPECT_EQ(sorted({"192.0.2.1:0", "169.254.0.1:0", "127.0.0.1:0"}),
              "169.254.0.1 127.0.0.1 192.0.2.1");
    EXPECT_EQ(sorted({"192.0.2.1:0", "[::ffff:192.0.2.2]:0"}), "192.0.2.1 ::ffff:192.0.2.2");
}
