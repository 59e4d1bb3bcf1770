#include <coracle/net/address.hpp>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <string>
#include <string_view>

using namespace coracle;
using net::address;
using namespace std::string_view_literals;

namespace {

std::string read(std::string_view text) {
    const auto a = address::parse(text);
    return a ? a->to_string() : "refused";
}

}  // namespace

TEST(address, reads_every_form_that_is_promised) {
    const std::pair<std::string_view, std::string_view> rows[] = {
        {"127.0.0.1:80", "127.0.0.1:80"},
        {"[::1]:80", "[::1]:80"},
        {"[2001:DB8:0::1]:443", "[2001:db8::1]:443"},
        {"[fe80::1%2]:80", "[fe80::1%2]:80"},
        {":80", "0.0.0.0:80"},
        {"80", "0.0.0.0:80"},
        {"0", "0.0.0.0:0"},
        {"localhost:8080", "127.0.0.1:8080"},
        {"255.255.255.255:65535", "255.255.255.255:65535"},
        {"unix:/run/a.sock", "unix:/run/a.sock"},
        {"unix:@name", "unix:@name"},
        {"unix:relative:with:colons", "unix:relative:with:colons"},
    };
    for (const auto& [text, expected] : rows) EXPECT_EQ(read(text), expected) << text;
}

TEST(address, refuses_what_is_none) {
    for (const std::string_view text : {""sv,
                                        ":"sv,
                                        "127.0.0.1"sv,
                                        "127.0.0.1:"sv,
                                        "127.0.0.1:65536"sv,
                                        "127.0.0.1:-1"sv,
                                        "127.0.0.1:+1"sv,
                                        "127.0.0.1: 80"sv,
                                        " 127.0.0.1:80"sv,
                                        "127.0.0.1:80 "sv,
                                        "127.1:80"sv,
                                        "0x7f.0.0.1:80"sv,
                                        "256.0.0.1:80"sv,
                                        "[::1]"sv,
                                        "[::1]80"sv,
                                        "::1:80"sv,
                                        "[::1:80"sv,
                                        "::1]:80"sv,
                                        "[]:80"sv,
                                        "[:80"sv,
                                        "[::1%]:80"sv,
                                        "[::1%eth0]:80"sv,
                                        "[::1%4294967296]:80"sv,
                                        "[127.0.0.1]:80"sv,
                                        "example.com:80"sv,
                                        "127.0.0.1:80x"sv,
                                        "unix:"sv,
                                        "127.0.0.1\0x:80"sv,
                                        "[::1\0x]:80"sv,
                                        "unix:/run/a\0b"sv}) {
        const auto a = address::parse(text);
        EXPECT_FALSE(a) << text;
        if (a) continue;
        EXPECT_TRUE(a.error() == std::errc::invalid_argument);
        EXPECT_EQ(a.error().subject(),
                  std::string(text) + " (write it as 127.0.0.1:80, [::1]:80, :80 or unix:/path)");
    }
}

TEST(address, takes_a_path_as_long_as_the_system_does) {
    EXPECT_EQ(read("unix:" + std::string(107, 'a')), "unix:" + std::string(107, 'a'));
    EXPECT_EQ(read("unix:" + std::string(108, 'a')), "refused");
}

TEST(address, survives_the_way_through_the_form_of_the_system) {
    for (const std::string text :
         {"127.0.0.1:80", "[::1]:80", "[fe80::1%2]:65535", "unix:/run/a.sock", "unix:@name"}) {
        const auto a = address::parse(text).value();
        EXPECT_EQ(address::from(a.to_endpoint()), a) << text;
    }
    const auto longest = address::parse("unix:" + std::string(107, 'a')).value();
    EXPECT_EQ(address::from(longest.to_endpoint()), longest);
    EXPECT_EQ(address::from(endpoint()), address());
    EXPECT_EQ(address().to_endpoint().size, 0u);
}

TEST(address, of_a_unix_peer_may_fill_its_field) {
    // Bound by somebody who leaves the NUL away; the system then counts one all the same.
    sockaddr_un full{};
    full.sun_family = AF_UNIX;
    std::memset(full.sun_path, 'a', sizeof full.sun_path);
    endpoint e;
    std::memcpy(e.bytes, &full, sizeof full);
    for (const std::size_t size : {sizeof full, sizeof full + 1}) {
        e.size = static_cast<decltype(e.size)>(size);
        const address a = address::from(e);
        EXPECT_EQ(a.to_string(), "unix:" + std::string(108, 'a'));
        const endpoint back = a.to_endpoint();
        EXPECT_EQ(back.size, sizeof full);
        EXPECT_EQ(std::memcmp(back.bytes, &full, sizeof full), 0);
    }
}

TEST(address, says_what_it_is) {
    const auto v4 = address::v4({127, 1, 2, 3}, 80);
    EXPECT_EQ(v4.family(), net::family::v4);
    EXPECT_EQ(v4.port(), 80);
    EXPECT_EQ(v4.host(), "127.1.2.3");
    EXPECT_TRUE(v4.is_loopback());
    EXPECT_FALSE(address::v4({128, 0, 0, 1}, 80).is_loopback());
    EXPECT_TRUE(address::parse("[::1]:1")->is_loopback());
    EXPECT_FALSE(address::parse("[::2]:1")->is_loopback());
    EXPECT_TRUE(address::parse("[::ffff:127.0.0.2]:1")->is_loopback());
    EXPECT_FALSE(address::parse("[::ffff:128.0.0.1]:1")->is_loopback());
    EXPECT_TRUE(address::parse("[::ffff:128.0.0.1]:1")->is_mapped());
    EXPECT_FALSE(address::parse("[::fffe:128.0.0.1]:1")->is_mapped());
    EXPECT_FALSE(v4.is_mapped());
    EXPECT_TRUE(address::parse("unix:/a")->is_loopback());
    EXPECT_EQ(address::parse("unix:/a")->host(), "unix:/a");
    EXPECT_EQ(address::parse("unix:/a")->port(), 0);
    EXPECT_EQ(address().family(), net::family::none);
    EXPECT_EQ(address().to_string(), "");
    EXPECT_FALSE(address().is_loopback());
}

TEST(address, compares_all_its_parts) {
    const auto a = address::v4({127, 0, 0, 1}, 80);
    EXPECT_EQ(a, address::parse("localhost:80").value());
    EXPECT_NE(a, address::v4({127, 0, 0, 1}, 81));
    EXPECT_NE(a, address::v4({127, 0, 0, 2}, 80));
    EXPECT_NE(address::parse("[fe80::1%1]:1").value(), address::parse("[fe80::1%2]:1").value());
    EXPECT_EQ(address::parse("unix:/a").value(), address::parse("unix:/a").value());
    EXPECT_NE(address::parse("unix:/a").value(), address::parse("unix:@a").value());
    EXPECT_NE(address(), address::v4({}, 0));
}
