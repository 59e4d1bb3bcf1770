// The sockets of a client have the options that it was given, and its resolver its files.

#include "support/client_calls.hpp"
#include "support/socket_option.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/net/socket.hpp>
#include <coracle/testing/local_server.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <string_view>

namespace coracle::testing {
namespace {

/// Calls `f(fd)` with the socket of a call that has these options.
template <class F>
void with_socket(std::string_view options, F f) {
    const auto upgrade = [](http::request&) {
        return http::upgrade("test", [](http::upgraded_connection& c) -> task<> {
            co_await as_result(c.stream.receive());
        });
    };
    const local_server server{http::handler(upgrade)};
    http::client client;
    block_on([&]() -> task<> {
        auto asking = client.get(server.url("/")).options(options).upgrade("test");
        http::response r = co_await std::move(asking);
        auto there = r.detach();
        EXPECT_TRUE(there) << http::to_code(r.status());
        if (!there) co_return;
        auto* const s = dynamic_cast<net::socket*>(there->stream.get());
        EXPECT_NE(s, nullptr);
        if (s != nullptr) f(s->number());
    });
}

TEST(client_sockets, have_the_options_that_were_asked_for) {
    with_socket(
        "socket_keep_alive=1, socket_keep_alive_idle=31s, socket_keep_alive_interval=7s, "
        "socket_keep_alive_count=4, socket_send_buffer=20000, socket_receive_buffer=30000, "
        "socket_user_timeout=5s, socket_type_of_service=8, socket_no_delay=0",
        [](int fd) {
            EXPECT_EQ(socket_option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
            EXPECT_EQ(socket_option(fd, IPPROTO_TCP, TCP_KEEPIDLE), 31);
            EXPECT_EQ(socket_option(fd, IPPROTO_TCP, TCP_KEEPINTVL), 7);
            EXPECT_EQ(socket_option(fd, IPPROTO_TCP, TCP_KEEPCNT), 4);
            EXPECT_EQ(socket_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 5'000);
            EXPECT_EQ(socket_option(fd, IPPROTO_TCP, TCP_NODELAY), 0);
            EXPECT_EQ(socket_option(fd, IPPROTO_IP, IP_TOS), 8);
            // The kernel has twice as much, for its own needs.
            EXPECT_EQ(socket_option(fd, SOL_SOCKET, SO_SNDBUF), 40'000);
            EXPECT_EQ(socket_option(fd, SOL_SOCKET, SO_RCVBUF), 60'000);
        });
}

TEST(client_sockets, have_the_longest_times_that_the_system_takes) {
    with_socket(
        "socket_keep_alive=1, socket_keep_alive_idle=100000s, "
        "socket_keep_alive_interval=100000s, socket_user_timeout=5184000s",
        [](int fd) {
            EXPECT_EQ(socket_option(fd, IPPROTO_TCP, TCP_KEEPIDLE), 32'767);
            EXPECT_EQ(socket_option(fd, IPPROTO_TCP, TCP_KEEPINTVL), 32'767);
            EXPECT_EQ(socket_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 2'147'483'647);
        });
}

TEST(client_sockets, are_as_the_system_has_them_but_for_small_segments) {
    with_socket("", [](int fd) {
        EXPECT_EQ(socket_option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
        EXPECT_EQ(socket_option(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
        EXPECT_EQ(socket_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
        EXPECT_EQ(socket_option(fd, IPPROTO_IP, IP_TOS), 0);
    });
}

TEST(client_sockets, that_were_opened_otherwise_are_not_used_for_each_other) {
    const local_server server(path_of);
    http::client client;
    for (const std::string_view options : {"socket_no_delay=0", "", ""}) {
        EXPECT_EQ(client.get(server.url("/x")).options(options).wait().body, "/x");
    }
    EXPECT_EQ(client.statistics().opened, 2U);
}

TEST(client_resolver, is_told_where_names_come_from) {
    const local_server server(path_of);
    const temporary_directory folder;
    http::pool_options p;
    p.resolver.hosts = folder.write("hosts", "127.0.0.1 boat.test\n");
    http::client client({}, p);
    const std::string url = "http://boat.test:" + std::to_string(server.port()) + "/x";
    EXPECT_EQ(client.get(url).wait().body, "/x");
}

}  // namespace
}  // namespace coracle::testing
