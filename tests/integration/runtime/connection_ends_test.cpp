// The reports of a connection's end, of a second operation in one direction, and of urgent data, on
// each backend.

#include "support/backends.hpp"
#include "support/failing_calls.hpp"
#include "unit/tls/tls_pair.hpp"

#include <coracle/io/kernel_pipe.hpp>
#include <coracle/net/listener.hpp>
#include <coracle/net/unix_socket.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

class connection_ends : public ::testing::TestWithParam<backend_case> {
protected:
    loop_on on{GetParam()};
};

/// Lets arrive what was sent.
task<> settle() {
    if (!loop::current()->backend().is_of_the_system()) co_await sleep_for(10s);
    co_await turns(3);
}

task<> expect_reset(net::byte_stream& s) {
    for (int i = 0; i != 2; ++i) {
        auto received = co_await as_result(s.receive());
        EXPECT_FALSE(received);
        if (!received) {
            EXPECT_EQ(received.error(), std::errc::connection_reset);
        }
        auto sent = co_await as_result(s.send("more"));
        EXPECT_FALSE(sent);
        if (!sent) {
            EXPECT_EQ(sent.error(), std::errc::connection_reset);
        }
    }
}

task<> a_reset_that_a_send_has_met() {
    auto both = co_await connected();
    both.server->close(true);
    co_await settle();
    auto sent = co_await as_result(both.client->send("x"));
    EXPECT_FALSE(sent);
    co_await expect_reset(*both.client);
}

task<> a_reset_that_try_send_has_met() {
    auto both = co_await connected();
    both.server->close(true);
    co_await settle();
    EXPECT_EQ(both.client->try_send("x"), -ECONNRESET);
    EXPECT_EQ(both.client->try_send("x"), -ECONNRESET);
    co_await expect_reset(*both.client);
}

task<> a_reset_that_a_receive_has_met() {
    auto both = co_await connected();
    const auto receive = [&]() -> task<> {
        auto received = co_await as_result(both.client->receive());
        EXPECT_FALSE(received);
        if (!received) {
            EXPECT_EQ(received.error(), std::errc::connection_reset);
        }
    };
    const auto reset = [&]() -> task<> {
        co_await settle();
        both.server->close(true);
    };
    co_await when_all(receive(), reset());
    co_await expect_reset(*both.client);
}

task<> an_end_in_good_order() {
    auto both = co_await connected();
    both.server->close();
    auto end = co_await as_result(both.client->receive());
    EXPECT_FALSE(end);
    EXPECT_EQ(end.error(), errc::end_of_stream);
    // The first one makes the peer reset what it does not have any more.
    for (int i = 0; i != 3; ++i) {
        static_cast<void>(co_await as_result(both.client->send("x")));
        co_await settle();
    }
    auto sent = co_await as_result(both.client->send("x"));
    EXPECT_FALSE(sent);
    if (!sent) {
        EXPECT_EQ(sent.error(), std::errc::broken_pipe);
    }
    end = co_await as_result(both.client->receive());
    EXPECT_FALSE(end);
    EXPECT_EQ(end.error(), errc::end_of_stream);
}

task<> one_in_each_direction(net::byte_stream& reads, net::byte_stream& writes) {
    const std::string much(16 * 1024 * 1024, 'x');
    const auto first = [&]() -> task<> {
        auto received = co_await as_result(reads.receive());
        EXPECT_TRUE(received);
    };
    const auto second = [&]() -> task<> {
        auto received = co_await as_result(reads.receive());
        EXPECT_FALSE(received);
        if (!received) {
            EXPECT_EQ(received.error(), std::errc::device_or_resource_busy);
        }
        co_await writes.send("x");
    };
    co_await when_all(first(), second());
    const auto fills = [&] { return writes.send(much); };
    const auto sends = [&]() -> task<> {
        auto sent = co_await as_result(with_timeout(1h, fills));
        EXPECT_TRUE(sent);
    };
    const auto sends_too = [&]() -> task<> {
        auto sent = co_await as_result(writes.send(much));
        EXPECT_FALSE(sent);
        if (!sent) {
            EXPECT_EQ(sent.error(), std::errc::device_or_resource_busy);
        }
        for (std::size_t left = much.size(); left != 0;) left -= (co_await reads.receive()).size();
    };
    co_await when_all(sends(), sends_too());
}

/// A second send is begun just as there is room again for the first one.
task<> sends_beside_a_send() {
    auto both = co_await connected();
    net::socket& near = *both.client;
    const int far = both.server->number();
    const std::string much(16 * 1024 * 1024, 'x');
    std::uint64_t read = 0;
    const auto sends = [&]() -> task<> { co_await near.send(much); };
    const auto responds = [&]() -> task<> {
        co_await near.receive();
        auto sent = co_await as_result(near.send("y"));
        EXPECT_FALSE(sent);
        if (!sent) {
            EXPECT_EQ(sent.error(), std::errc::device_or_resource_busy);
        }
    };
    const auto reads = [&]() -> task<> {
        std::string some(1024 * 1024, ' ');
        const auto read_on = [&](int flags) {
            const auto n = ::recv(far, some.data(), some.size(), flags);
            if (n > 0) read += static_cast<std::uint64_t>(n);
            EXPECT_EQ(some.substr(0, n > 0 ? static_cast<std::size_t>(n) : 0).find('y'),
                      std::string::npos);
            return n > 0;
        };
        while (read_on(MSG_DONTWAIT)) {
        }
        EXPECT_EQ(::send(far, "?", 1, 0), 1);
        while (read != much.size()) {
            co_await sleep_for(1ms);
            read_on(MSG_DONTWAIT);
        }
    };
    co_await when_all(sends(), responds(), reads());
}

task<> accepts_of_two() {
    auto l = net::listener::open(*loop::current(), loopback());
    EXPECT_TRUE(l);
    const auto first = [&]() -> task<> { co_await l->accept(); };
    const auto second = [&]() -> task<> {
        auto accepted = co_await as_result(l->accept());
        EXPECT_FALSE(accepted);
        if (!accepted) {
            EXPECT_EQ(accepted.error(), std::errc::device_or_resource_busy);
        }
        co_await net::connect(l->local());
    };
    co_await when_all(first(), second());
}

}  // namespace

TEST_P(connection_ends, tell_of_a_reset_again_and_again) {
    on.run(a_reset_that_a_send_has_met);
    on.run(a_reset_that_try_send_has_met);
    on.run(a_reset_that_a_receive_has_met);
}

/// Connects in a later turn: this task has had its share of this one.
task<> connect_late() {
    struct note final : hangup_watch {
        note() noexcept : hangup_watch{&called} {}
        static void called(hangup_watch&) noexcept {}
    };
    auto l = net::listener::open(*loop::current(), net::address::v4({127, 0, 0, 1}, 0));
    event done;
    done.set();
    co_await yield();
    for (int i = 0; i != 64; ++i) co_await done.wait();
    const auto client = co_await net::connect(l->local());
    const auto server = co_await l->accept();
    co_await turns(3);
    note n;
    EXPECT_TRUE(client->watch_hangup(&n));
    client->watch_hangup(nullptr);
}

TEST_P(connection_ends, do_not_come_before_the_begin) {
    on.run(connect_late);
}

TEST_P(connection_ends, give_what_came_before_a_reset) {
    const auto f = []() -> task<> {
        auto both = co_await connected();
        co_await both.server->send("half");
        co_await settle();
        both.server->close(true);
        co_await settle();
        EXPECT_EQ(both.client->try_send("x"), -ECONNRESET);
        const buffer half = co_await both.client->receive();
        EXPECT_EQ(half.view(), "half");
        co_await expect_reset(*both.client);
    };
    on.run(f);
}

TEST_P(connection_ends, in_good_order_stay_what_they_are) {
    on.run(an_end_in_good_order);
}

TEST_P(connection_ends, are_not_waited_for_by_a_second_operation_in_one_direction) {
    const auto sockets = []() -> task<> {
        auto both = co_await connected();
        co_await one_in_each_direction(*both.client, *both.server);
    };
    on.run(sockets);
    const auto pipes = []() -> task<> {
        auto both = io::make_pipe();
        EXPECT_TRUE(both);
        co_await one_in_each_direction(*both->reader, *both->writer);
    };
    on.run(pipes);
    const auto encrypted = []() -> task<> {
        const tls_world world;
        tls::server_context server(world.server_options());
        tls::client_context client(world.client_options());
        tls_pair both = co_await shake_hands(client, server, "localhost");
        EXPECT_TRUE(both.client && both.server);
        if (!both.client || !both.server) co_return;
        co_await one_in_each_direction(**both.client, **both.server);
        co_await one_in_each_direction(**both.server, **both.client);
    };
    on.run(encrypted);
    on.run(accepts_of_two);
    on.run(sends_beside_a_send);
}

TEST_P(connection_ends, are_found_behind_urgent_data) {
    const auto f = []() -> task<> {
        auto both = co_await connected();
        const int fd = both.server->number();
        EXPECT_EQ(::send(fd, "before", 6, 0), 6);
        EXPECT_EQ(::send(fd, "!", 1, MSG_OOB), 1);
        EXPECT_EQ(::send(fd, "behind", 6, 0), 6);
        both.server->shutdown_output();
        std::string all;
        for (;;) {
            auto piece = co_await as_result(both.client->receive());
            if (!piece) {
                EXPECT_EQ(piece.error(), errc::end_of_stream);
                break;
            }
            all += piece->view();
        }
        EXPECT_EQ(all, "beforebehind");
    };
    on.run(f);
}

TEST_P(connection_ends, do_not_come_before_what_is_behind_urgent_data) {
    const auto f = []() -> task<> {
        auto both = co_await connected();
        const int fd = both.server->number();
        EXPECT_EQ(::send(fd, "before", 6, 0), 6);
        EXPECT_EQ(::send(fd, "!", 1, MSG_OOB), 1);
        EXPECT_EQ(::send(fd, "behind", 6, 0), 6);
        const auto rest = [&] { return read_exactly(*both.client, 12); };
        auto all = co_await as_result(with_timeout(20s, rest));
        EXPECT_TRUE(all);
        if (all) {
            EXPECT_EQ(*all, "beforebehind");
        }
    };
    on.run(f);
}

TEST_P(connection_ends, are_told_again_whatever_the_network_said) {
    if (!failing_calls::available()) GTEST_SKIP() << "calls are not replaced in this build";
    for (const int number : {ECONNREFUSED, EACCES, EHOSTDOWN, ENETUNREACH, EPROTO, ETIMEDOUT}) {
        const failing_calls fails("send", number, 1);
        const auto f = [&]() -> task<> {
            auto both = co_await connected();
            both.server->close();
            co_await settle();
            EXPECT_EQ(both.client->try_send("x"), -number);
            for (int i = 0; i != 2; ++i) {
                auto received = co_await as_result(both.client->receive());
                EXPECT_FALSE(received);
                if (!received) {
                    EXPECT_EQ(received.error(), static_cast<std::errc>(number)) << i;
                }
            }
        };
        on.run(f);
        EXPECT_TRUE(fails.happened());
    }
}

INSTANTIATE_TEST_SUITE_P(each, connection_ends, ::testing::ValuesIn(each_backend()),
                         [](const auto& of) { return std::string(of.param.name); });

TEST(connection_ends_simulated, are_told_again_and_again) {
    for (const std::uint64_t seed : seeds(10)) {
        simulation_options o;
        o.seed = seed;
        simulation(o).run(a_reset_that_a_send_has_met);
        simulation(o).run(a_reset_that_a_receive_has_met);
        simulation(o).run(an_end_in_good_order);
    }
}
