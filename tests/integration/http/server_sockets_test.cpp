// The sockets of a server: who shares its port, and what the accepted ones have.

#include "support/on_each_backend.hpp"
#include "support/socket_option.hpp"

#include <coracle/http/server.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/peer.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <string>

using namespace coracle;
using namespace coracle::testing;

namespace {

http::handler hello() {
    return [](http::request&) { return "hello"; };
}

std::error_code why_not(unsigned loops, const http::server_options& o) {
    runtime_options on;
    on.loops = loops;
    runtime rt(on);
    http::server s(hello(), o);
    try {
        s.open(rt);
    } catch (const exception& e) {
        EXPECT_NE(std::string(e.what()).find(o.listen), std::string::npos) << e.what();
        return e.code();
    }
    return {};
}

/// Runs `f` with a socket that a server with these options has accepted.
template <class F>
void with_accepted(const local_server_options& o, F f) {
    const auto upgrade = [&f](http::request&) {
        return http::upgrade("test", [&f](http::upgraded_connection& c) -> task<> {
            auto* const s = dynamic_cast<net::socket*>(&c.stream);
            EXPECT_NE(s, nullptr);
            if (s != nullptr) f(*s);
            co_await c.stream.send("done");
        });
    };
    const local_server server(http::handler(upgrade), o);
    block_on([&]() -> task<> {
        peer p = co_await connect_peer(server.addresses().front());
        co_await p.send(
            "GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: test\r\n\r\n");
        co_await p.read_until("done");
    });
}

}  // namespace

TEST(server_sockets, refuse_a_port_that_another_server_has) {
    for (const unsigned first : {1u, 2u}) {
        local_server_options o;
        o.loops = first;
        const local_server there(hello(), o);
        http::server_options same;
        same.listen = "127.0.0.1:" + std::to_string(there.port());
        for (const unsigned second : {1u, 2u}) {
            EXPECT_EQ(why_not(second, same), std::errc::address_in_use) << first << second;
        }
        // The listeners of several loops can be joined by who asks for it.
        same.sockets.reuse_port = true;
        EXPECT_EQ(why_not(1, same), first == 1 ? std::errc::address_in_use : std::errc());
    }
}

TEST(server_sockets, share_a_port_when_they_are_asked_to) {
    local_server_options o;
    o.sockets.reuse_port = true;
    const local_server there(hello(), o);
    http::server_options same;
    same.listen = "127.0.0.1:" + std::to_string(there.port());
    EXPECT_EQ(why_not(1, same), std::errc::address_in_use);
    EXPECT_EQ(why_not(2, same), std::errc::address_in_use);
    same.sockets.reuse_port = true;
    EXPECT_EQ(why_not(1, same), std::error_code());
    EXPECT_EQ(why_not(2, same), std::error_code());
}

TEST(server_sockets, probe_silent_clients_by_default) {
    with_accepted({}, [](const net::socket& s) {
        EXPECT_EQ(socket_option(s.number(), SOL_SOCKET, SO_KEEPALIVE), 1);
        EXPECT_EQ(socket_option(s.number(), IPPROTO_TCP, TCP_KEEPIDLE), 30);
        EXPECT_EQ(socket_option(s.number(), IPPROTO_TCP, TCP_KEEPINTVL), 10);
        EXPECT_EQ(socket_option(s.number(), IPPROTO_TCP, TCP_KEEPCNT), 3);
        EXPECT_EQ(socket_option(s.number(), IPPROTO_TCP, TCP_NODELAY), 1);
        EXPECT_EQ(socket_option(s.number(), IPPROTO_TCP, TCP_USER_TIMEOUT), 30'000);
    });
}

TEST(server_sockets, hold_as_much_unsent_as_the_limit_says) {
    const auto expect = [](const local_server_options& o, int unsent) {
        with_accepted(o, [unsent](const net::socket& s) {
            EXPECT_EQ(socket_option(s.number(), IPPROTO_TCP, TCP_NOTSENT_LOWAT), unsent);
        });
    };
    local_server_options o;
    expect(o, 60 * 1024);
    o.limits.unsent = 16 * 1024;
    expect(o, 16 * 1024);
    o.sockets.unsent = 32 * 1024;
    expect(o, 32 * 1024);
    o.sockets.unsent = 0;
    o.limits.unsent = 0;
    expect(o, 0);
}

TEST(server_sockets, have_the_options_that_were_asked_for) {
    local_server_options o;
    o.sockets.keep_alive = {.on = true, .idle = 7, .interval = 5, .count = 2};
    o.sockets.no_delay = false;
    o.sockets.user_timeout_ms = 12'000;
    o.sockets.send_buffer = 20'000;
    o.sockets.receive_buffer = 30'000;
    with_accepted(o, [](const net::socket& s) {
        EXPECT_EQ(socket_option(s.number(), IPPROTO_TCP, TCP_KEEPIDLE), 7);
        EXPECT_EQ(socket_option(s.number(), IPPROTO_TCP, TCP_KEEPINTVL), 5);
        EXPECT_EQ(socket_option(s.number(), IPPROTO_TCP, TCP_KEEPCNT), 2);
        EXPECT_EQ(socket_option(s.number(), IPPROTO_TCP, TCP_NODELAY), 0);
        EXPECT_EQ(socket_option(s.number(), IPPROTO_TCP, TCP_USER_TIMEOUT), 12'000);
        // The kernel has twice as much, for its own needs.
        EXPECT_EQ(socket_option(s.number(), SOL_SOCKET, SO_SNDBUF), 40'000);
        EXPECT_EQ(socket_option(s.number(), SOL_SOCKET, SO_RCVBUF), 60'000);
    });
    o.sockets.keep_alive.on = false;
    with_accepted(o, [](const net::socket& s) {
        EXPECT_EQ(socket_option(s.number(), SOL_SOCKET, SO_KEEPALIVE), 0);
    });
}
