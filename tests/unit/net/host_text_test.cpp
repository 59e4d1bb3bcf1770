// The host of an address as text, written without an allocation.

#include "net/host_text.hpp"

#include "support/allocation_count.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

using namespace coracle;

namespace {

std::string written(const net::address& a) {
    char text[net::detail::longest_host];
    return {text, net::detail::write_host(a, text)};
}

net::address parsed(std::string_view text) {
    return *net::address::parse(text);
}

}  // namespace

TEST(host_text, is_that_of_the_address) {
    for (const char* const text : {"127.0.0.1:1",
                                   "0.0.0.0:1",
                                   "255.199.20.3:1",
                                   "10.0.0.100:1",
                                   "[::1]:1",
                                   "[::]:1",
                                   "[2001:db8::1]:1",
                                   "[2001:db8:0:1:1:1:1:1]:1",
                                   "[2001:0:0:1:0:0:0:1]:1",
                                   "[2001:db8:0:0:1:0:0:1]:1",
                                   "[1::]:1",
                                   "[1:2:3:4:5:6:7:8]:1",
                                   "[1:2:3:4:5:6:7:0]:1",
                                   "[1:2:3:4:5:6::]:1",
                                   "[::ffff:192.0.2.1]:1",
                                   "[::192.0.2.1]:1",
                                   "[fe80::1%2]:1",
                                   "[ff02::1]:1",
                                   "[64:ff9b::192.0.2.1]:1",
                                   "unix:/run/boat",
                                   "unix:@boat"}) {
        EXPECT_EQ(written(parsed(text)), parsed(text).host());
    }
    EXPECT_EQ(written(net::address()), "");
    const std::string longest = "unix:/" + std::string(106, 'b');
    EXPECT_EQ(written(parsed(longest)), longest);
}

TEST(host_text, is_that_of_any_address) {
    std::mt19937 next(7);
    for (int i = 0; i != 20'000; ++i) {
        std::array<std::uint8_t, 16> v6{};
        std::array<std::uint8_t, 4> v4{};
        // Many zeros, so that runs of them come up.
        for (auto& b : v6) b = static_cast<std::uint8_t>(next() % 3 == 0 ? next() : 0);
        for (auto& b : v4) b = static_cast<std::uint8_t>(next());
        const net::address six = net::address::v6(v6, 1);
        ASSERT_EQ(written(six), six.host());
        const net::address four = net::address::v4(v4, 1);
        ASSERT_EQ(written(four), four.host());
    }
}

TEST(host_text, allocates_nothing) {
    if (!coracle::testing::counts_allocations())
        GTEST_SKIP() << "allocations are not counted in this build";
    const net::address four = parsed("255.199.200.103:1");
    const net::address six = parsed("[2001:db8:1111:2222:3333:4444:5555:6666]:1");
    char text[net::detail::longest_host];
    const std::size_t before = coracle::testing::allocations();
    EXPECT_EQ(net::detail::write_host(four, text), 15U);
    EXPECT_EQ(net::detail::write_host(six, text), 38U);
    EXPECT_EQ(coracle::testing::allocations(), before);
}
