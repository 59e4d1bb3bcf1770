#include "support/connected.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/net/unix_socket.hpp>
#include <coracle/runtime/owned_fd.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::connect_to;
using coracle::testing::loopback;
using coracle::testing::read_exactly;

namespace {

task<> exchange(net::listener& l) {
    const auto both = co_await connect_to(l);
    co_await both.client->send("hello");
    EXPECT_EQ(co_await read_exactly(*both.server, 5), "hello");
}

}  // namespace

TEST(listener, says_which_port_the_system_chose) {
    block_on([]() -> task<> {
        auto l = net::listener::open(*loop::current(), loopback());
        EXPECT_TRUE(l);
        EXPECT_NE(l->local().port(), 0);
        EXPECT_EQ(l->local().host(), "127.0.0.1");
        co_await exchange(*l);
    });
}

TEST(listener, listens_on_ipv6) {
    block_on([]() -> task<> {
        auto l = net::listener::open(*loop::current(), net::address::parse("[::1]:0").value());
        if (l) {
            co_await exchange(*l);
            co_return;
        }
        // A system without IPv6.
        EXPECT_TRUE(l.error() == std::errc::address_not_available ||
                    l.error() == std::errc::address_family_not_supported)
            << l.error();
    });
}

TEST(listener, listens_on_a_path_and_replaces_a_file_that_nobody_serves) {
    const coracle::testing::temporary_directory directory;
    const auto path = directory.path() / "socket";
    const auto at = net::address::parse("unix:" + path.string()).value();
    block_on([&]() -> task<> {
        for (int i = 0; i != 2; ++i) {
            auto l = net::listener::open(*loop::current(), at);
            EXPECT_TRUE(l);
            EXPECT_EQ(l->local(), at);
            co_await exchange(*l);
        }
        EXPECT_TRUE(std::filesystem::exists(path)) << "left by the second one";
    });
}

TEST(listener, does_not_take_the_path_of_one_that_serves_or_of_a_file) {
    const coracle::testing::temporary_directory directory;
    const auto at = net::address::parse("unix:" + (directory.path() / "s").string()).value();
    block_on([&]() -> task<> {
        auto first = net::listener::open(*loop::current(), at);
        EXPECT_TRUE(first);
        auto second = net::listener::open(*loop::current(), at);
        EXPECT_FALSE(second);
        EXPECT_TRUE(second.error() == std::errc::address_in_use);
        EXPECT_EQ(second.error().subject(), at.to_string());

        const auto file = directory.write("file", "precious");
        auto third = net::listener::open(*loop::current(),
                                         net::address::parse("unix:" + file.string()).value());
        EXPECT_FALSE(third);
        EXPECT_EQ(std::filesystem::file_size(file), 8u);
        co_return;
    });
}

// One that is bound and does not listen yet refuses connections, as one that is left behind does.
TEST(listener, takes_no_path_of_a_socket_that_another_process_is_about_to_listen_on) {
    const auto as_stream = [](loop& on, const net::address& at) {
        auto l = net::listener::open(on, at);
        return l ? error() : l.error();
    };
    const auto as_messages = [](loop& on, const net::address& at) {
        auto l = net::unix_listener::open(on, at, net::unix_kind::stream);
        return l ? error() : l.error();
    };
    const std::function<error(loop&, const net::address&)> ways[] = {as_stream, as_messages};
    for (const auto& open : ways) {
        const coracle::testing::temporary_directory directory;
        const owned_fd lock(::open(directory.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
        const auto at = net::address::parse("unix:" + (directory.path() / "s").string()).value();
        const owned_fd other(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const endpoint e = at.to_endpoint();
        ASSERT_EQ(::bind(other.get(), reinterpret_cast<const sockaddr*>(e.bytes), e.size), 0);
        std::jthread listening([&] {
            // So that one which does not wait is found out.
            block_on([]() -> task<> { co_await sleep_for(20ms); });
            EXPECT_EQ(::listen(other.get(), 1), 0);
            EXPECT_EQ(::flock(lock.get(), LOCK_UN), 0);
        });
        block_on([&]() -> task<> {
            const time_point began = loop::current()->now();
            const error failed = open(*loop::current(), at);
            co_await yield();
            // After a second it no longer waits: then the other thread stood still.
            if (loop::current()->now() - began >= 1s) co_return;
            EXPECT_TRUE(failed == std::errc::address_in_use) << failed;
        });
    }
}

TEST(listener, listens_on_an_abstract_name) {
    block_on([]() -> task<> {
        const auto at =
            net::address::parse("unix:@coracle-test-" + std::to_string(::getpid())).value();
        auto l = net::listener::open(*loop::current(), at);
        EXPECT_TRUE(l);
        EXPECT_EQ(l->local(), at);
        co_await exchange(*l);
    });
}

TEST(listener, refuses_a_port_that_is_taken) {
    block_on([]() -> task<> {
        auto first = net::listener::open(*loop::current(), loopback());
        auto second = net::listener::open(*loop::current(), first->local());
        EXPECT_FALSE(second);
        EXPECT_TRUE(second.error() == std::errc::address_in_use);
        co_return;
    });
}

TEST(listener, shares_a_port_when_it_is_asked_to) {
    block_on([]() -> task<> {
        socket_options options;
        options.reuse_port = true;
        auto first = net::listener::open(*loop::current(), loopback(), options);
        EXPECT_TRUE(first);
        auto second = net::listener::open(*loop::current(), first->local(), options);
        EXPECT_TRUE(second);
        co_return;
    });
}

TEST(listener, refuses_an_address_of_no_family) {
    block_on([]() -> task<> {
        EXPECT_FALSE(net::listener::open(*loop::current(), net::address()));
        co_return;
    });
}

TEST(listener, accepts_many_connections_that_wait) {
    block_on([]() -> task<> {
        auto l = net::listener::open(*loop::current(), loopback());
        std::vector<std::unique_ptr<net::socket>> clients;
        std::vector<std::unique_ptr<net::socket>> servers;
        for (int i = 0; i != 100; ++i) clients.push_back(co_await net::connect(l->local()));
        for (int i = 0; i != 100; ++i) servers.push_back(co_await l->accept());
        EXPECT_EQ(servers.size(), clients.size());
    });
}

TEST(listener, loses_no_connection_when_an_accept_is_cancelled) {
    block_on([]() -> task<> {
        auto l = net::listener::open(*loop::current(), loopback());
        for (int i = 0; i != 5; ++i) {
            auto r = co_await as_result(with_timeout(1us, l->accept()));
            EXPECT_FALSE(r);
        }
        co_await exchange(*l);
    });
}

TEST(listener, may_be_moved_while_nobody_waits) {
    block_on([]() -> task<> {
        auto l = net::listener::open(*loop::current(), loopback());
        net::listener moved = std::move(*l);
        co_await exchange(moved);
        moved.close();
        moved.close();
        auto r = co_await as_result(net::connect(moved.local()));
        EXPECT_FALSE(r);
    });
}

TEST(listener, tells_when_descriptors_run_out_and_can_refuse_a_connection) {
    block_on([]() -> task<> {
        auto l = net::listener::open(*loop::current(), loopback());
        auto client = co_await net::connect(l->local());
        rlimit before{};
        EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
        const int next = ::dup(0);
        ::close(next);
        rlimit none = before;
        none.rlim_cur = static_cast<rlim_t>(next);
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
        auto r = co_await as_result(l->accept());
        const bool told = !r && r.error() == std::errc::too_many_files_open;
        l->refuse_one();
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
        EXPECT_TRUE(told);
        auto end = co_await as_result(client->receive());
        EXPECT_FALSE(end) << "the peer is told instead of left hanging";
        co_await exchange(*l);
    });
}
