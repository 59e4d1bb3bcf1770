#include "support/connected.hpp"
#include "support/socket_option.hpp"

#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace coracle;
using coracle::testing::loopback;
using coracle::testing::socket_option;

namespace {

/// Opens a socket to connect to the loopback, as `o` says; calls `f(fd)`.
template <class F>
void with_stream(const socket_options& o, F f, net::address to = loopback()) {
    block_on([&]() -> task<> {
        backend& b = loop::current()->backend();
        const auto fd = b.open_stream(to.to_endpoint(), o);
        EXPECT_TRUE(fd) << fd.error();
        if (!fd) co_return;
        f(*fd);
        b.discard(*fd);
    });
}

template <class F>
void with_listener(const socket_options& o, net::address at, F f) {
    block_on([&]() -> task<> {
        backend& b = loop::current()->backend();
        endpoint e = at.to_endpoint();
        const auto fd = b.listen(e, o);
        EXPECT_TRUE(fd) << fd.error();
        if (!fd) co_return;
        f(*fd, net::address::from(e));
        b.discard(*fd);
    });
}

net::address any_v6() {
    return net::address::v6({}, 0);
}

/// Returns true if an IPv4 client reaches `port`.
bool reachable_by_v4(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const endpoint e = net::address::v4({127, 0, 0, 1}, port).to_endpoint();
    const bool connected = ::connect(fd, reinterpret_cast<const sockaddr*>(e.bytes), e.size) == 0;
    ::close(fd);
    return connected;
}

/// Sends to a peer that does not read until the system takes no more; gives the bytes that it has
/// not sent yet.
int unsent_bytes(unsigned limit) {
    int held = -1;
    block_on([&]() -> task<> {
        socket_options o;
        o.unsent = limit;
        auto l = net::listener::open(*loop::current(), loopback(), o);
        auto both = co_await coracle::testing::connect_to(*l);
        const std::string piece(16 * 1024, 'x');
        while (both.server->try_send(piece) > 0) {
        }
        EXPECT_EQ(::ioctl(both.server->number(), SIOCOUTQNSD, &held), 0);
    });
    return held;
}

}  // namespace

TEST(socket_options, bounds_what_is_held_unsent_for_a_peer_that_does_not_read) {
    constexpr int piece = 16 * 1024;
    EXPECT_LE(unsent_bytes(64 * 1024), 64 * 1024 + piece);
    EXPECT_GT(unsent_bytes(0), 256 * 1024);
}

TEST(socket_options, of_a_listener_bound_what_its_connections_hold) {
    socket_options o;
    o.unsent = 64 * 1024;
    with_listener(o, loopback(), [](int fd, const net::address&) {
        EXPECT_EQ(socket_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT), 64 * 1024);
    });
}

TEST(socket_options, leaves_the_system_its_defaults) {
    with_stream({}, [](int fd) {
        EXPECT_EQ(socket_option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
        EXPECT_EQ(socket_option(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
        EXPECT_EQ(socket_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
        EXPECT_EQ(socket_option(fd, IPPROTO_IP, IP_TOS), 0);
    });
    socket_options o;
    o.no_delay = false;
    with_stream(o, [](int fd) { EXPECT_EQ(socket_option(fd, IPPROTO_TCP, TCP_NODELAY), 0); });
}

TEST(socket_options, sets_keep_alive_and_the_timeout) {
    socket_options o;
    o.keep_alive.on = true;
    o.keep_alive.idle = 61;
    o.keep_alive.interval = 7;
    o.keep_alive.count = 4;
    o.user_timeout_ms = 12'345;
    with_stream(o, [](int fd) {
        EXPECT_EQ(socket_option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
        EXPECT_EQ(socket_option(fd, IPPROTO_TCP, TCP_KEEPIDLE), 61);
        EXPECT_EQ(socket_option(fd, IPPROTO_TCP, TCP_KEEPINTVL), 7);
        EXPECT_EQ(socket_option(fd, IPPROTO_TCP, TCP_KEEPCNT), 4);
        EXPECT_EQ(socket_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 12'345);
    });
}

TEST(socket_options, sets_the_size_of_buffers) {
    socket_options o;
    o.send_buffer = 40'000;
    o.receive_buffer = 50'000;
    with_stream(o, [](int fd) {
        // Linux counts its own bookkeeping too, and doubles what it is told.
        EXPECT_EQ(socket_option(fd, SOL_SOCKET, SO_SNDBUF), 80'000);
        EXPECT_EQ(socket_option(fd, SOL_SOCKET, SO_RCVBUF), 100'000);
    });
}

TEST(socket_options, sets_the_type_of_service_of_both_families) {
    socket_options o;
    o.type_of_service = 0x28;
    with_stream(o, [](int fd) { EXPECT_EQ(socket_option(fd, IPPROTO_IP, IP_TOS), 0x28); });
    with_stream(
        o, [](int fd) { EXPECT_EQ(socket_option(fd, IPPROTO_IPV6, IPV6_TCLASS), 0x28); }, any_v6());
}

TEST(socket_options, asks_for_fast_open_on_both_sides) {
    socket_options o;
    o.fast_open = true;
    o.fast_open_queue = 17;
    with_stream(o,
                [](int fd) { EXPECT_EQ(socket_option(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT), 1); });
    with_listener(o, loopback(), [](int fd, const net::address&) {
        EXPECT_EQ(socket_option(fd, IPPROTO_TCP, TCP_FASTOPEN), 17);
    });
}

TEST(socket_options, connects_from_a_given_address) {
    socket_options o;
    o.local = net::address::v4({127, 0, 0, 9}, 0).to_endpoint();
    block_on([&]() -> task<> {
        auto l = net::listener::open(*loop::current(), loopback());
        auto [client, server] = co_await when_all(net::connect(l->local(), o), l->accept());
        EXPECT_EQ(server->peer().host(), "127.0.0.9");
    });
}

TEST(socket_options, keeps_local_ports_within_a_range_or_says_why_not) {
    constexpr int ip_local_port_range = 51;
    socket_options o;
    o.first_local_port = 40'100;
    o.last_local_port = 40'119;
    block_on([&]() -> task<> {
        backend& b = loop::current()->backend();
        const auto fd = b.open_stream(loopback().to_endpoint(), o);
        if (!fd) {
            // Before Linux 6.3.
            EXPECT_EQ(fd.error(), std::errc::no_protocol_option);
            EXPECT_EQ(fd.error().operation(), "local_port_range");
            co_return;
        }
        EXPECT_EQ(socket_option(*fd, IPPROTO_IP, ip_local_port_range), 40'119 << 16 | 40'100);
        b.discard(*fd);
    });
}

TEST(socket_options, binds_to_a_device_or_says_why_not) {
    socket_options o;
    o.device = "lo";
    block_on([&]() -> task<> {
        auto l = net::listener::open(*loop::current(), loopback());
        auto connected = co_await as_result(net::connect(l->local(), o));
        EXPECT_TRUE(connected || connected.error() == std::errc::operation_not_permitted);
        o.device = "nosuchdevice0";
        connected = co_await as_result(net::connect(l->local(), o));
        EXPECT_FALSE(connected);
        EXPECT_EQ(connected.error().operation(), "device");
    });
}

TEST(socket_options, marks_or_says_why_not) {
    socket_options o;
    o.mark = 77;
    block_on([&]() -> task<> {
        backend& b = loop::current()->backend();
        const auto fd = b.open_stream(loopback().to_endpoint(), o);
        if (!fd) {
            EXPECT_EQ(fd.error(), std::errc::operation_not_permitted);
            EXPECT_EQ(fd.error().operation(), "mark");
            co_return;
        }
        EXPECT_EQ(socket_option(*fd, SOL_SOCKET, SO_MARK), 77);
        b.discard(*fd);
    });
}

TEST(socket_options, lets_a_listener_take_both_families_or_one) {
    with_listener({}, any_v6(), [](int fd, const net::address& at) {
        EXPECT_EQ(socket_option(fd, IPPROTO_IPV6, IPV6_V6ONLY), 0);
        EXPECT_TRUE(reachable_by_v4(at.port()));
    });
    socket_options o;
    o.v6_only = true;
    with_listener(o, any_v6(), [](int fd, const net::address& at) {
        EXPECT_EQ(socket_option(fd, IPPROTO_IPV6, IPV6_V6ONLY), 1);
        EXPECT_FALSE(reachable_by_v4(at.port()));
    });
}

TEST(socket_options, hands_down_to_accepted_sockets_what_the_listener_has) {
    socket_options o;
    o.keep_alive.on = true;
    o.keep_alive.idle = 33;
    o.user_timeout_ms = 4321;
    with_listener(o, loopback(), [](int fd, const net::address& at) {
        EXPECT_TRUE(reachable_by_v4(at.port()));
        const int accepted = ::accept(fd, nullptr, nullptr);
        ASSERT_GE(accepted, 0);
        EXPECT_EQ(socket_option(accepted, IPPROTO_TCP, TCP_NODELAY), 1);
        EXPECT_EQ(socket_option(accepted, SOL_SOCKET, SO_KEEPALIVE), 1);
        EXPECT_EQ(socket_option(accepted, IPPROTO_TCP, TCP_KEEPIDLE), 33);
        EXPECT_EQ(socket_option(accepted, IPPROTO_TCP, TCP_USER_TIMEOUT), 4321);
        ::close(accepted);
    });
}

// A client that tries again and again, while nobody listens, gets the very port some time.
TEST(socket_options, lets_no_socket_connect_to_itself) {
    block_on([]() -> task<> {
        net::address there;
        {
            const auto l = net::listener::open(*loop::current(), loopback());
            there = l->local();
        }
        const std::string port = ':' + std::to_string(there.port());
        constexpr std::pair<const char*, const char*> ends[] = {
            {"127.0.0.1", "127.0.0.1"},
            {"127.0.0.1", "0.0.0.0"},
            {"[::ffff:127.0.0.1]", "[::ffff:0.0.0.0]"}};
        for (const auto& [here, host] : ends) {
            socket_options o;
            o.local = net::address::parse(here + port)->to_endpoint();
            const auto to = net::address::parse(host + port);
            const auto s = co_await as_result(net::connect(*to, o));
            EXPECT_FALSE(s);
            EXPECT_EQ(s.error(), std::errc::connection_refused) << s.error();
            EXPECT_EQ(s.error().phase(), phase::connect);
            EXPECT_TRUE(s.error().safe_to_retry());
        }
    });
}
