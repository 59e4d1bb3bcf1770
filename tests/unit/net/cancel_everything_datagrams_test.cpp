#include "support/cancel_everywhere.hpp"

#include <coracle/net/datagram_socket.hpp>
#include <coracle/net/unix_socket.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>

// As tests/unit/runtime/cancel_everything_test.cpp, for what moves messages.

using namespace coracle;
using namespace coracle::testing;

namespace {

struct datagram_row : cancel_row {
    static constexpr bool again = true;
    std::optional<net::datagram_socket> from;
    std::optional<net::datagram_socket> to;
    net::datagram received;
    net::datagram_batch batch{4, 64};
    task<> prepare() {
        const net::address any = net::address::v4({127, 0, 0, 1}, 0);
        from.emplace(net::datagram_socket::open(*loop::current(), any).value());
        to.emplace(net::datagram_socket::open(*loop::current(), any).value());
        EXPECT_TRUE(from->connect(to->local()));
        received.from = to->local();
        EXPECT_TRUE(batch.add("one", to->local()));
        EXPECT_TRUE(batch.add("two", to->local()));
        co_return;
    }
};

struct receive_row : datagram_row {
    auto make() { return to->receive(); }
    task<> help() {
        co_await turns(2);
        static_cast<void>(co_await from->send("hello"));
    }
};

struct receive_many_row : datagram_row {
    net::datagram_batch into;
    auto make() { return to->receive_many(into); }
    task<> help() {
        co_await turns(2);
        static_cast<void>(co_await from->send_many(batch));
    }
};

struct send_row : datagram_row {
    auto make() { return from->send("hello"); }
};
struct send_to_row : datagram_row {
    auto make() { return from->send_to("hello", to->local()); }
};
struct reply_row : datagram_row {
    auto make() { return from->reply(received, "hello"); }
};
struct send_segments_row : datagram_row {
    auto make() { return from->send_segments("hello", 2, to->local()); }
};
struct send_many_row : datagram_row {
    auto make() { return from->send_many(batch); }
};

struct pair_row : cancel_row {
    static constexpr bool real = true;
    std::optional<net::unix_socket> a;
    std::optional<net::unix_socket> b;
    int descriptor = 0;
    task<> prepare() {
        auto both = net::unix_socket::pair(*loop::current(), net::unix_kind::stream).value();
        a.emplace(std::move(both.first));
        b.emplace(std::move(both.second));
        co_return;
    }
    /// Reads to the end, which comes when the operation is over.
    task<> drain() {
        for (;;) {
            auto some = co_await as_result(b->receive_with_descriptors());
            if (!some || some->bytes.empty()) co_return;
        }
    }
};

struct unix_receive_row : pair_row {
    static constexpr bool again = true;
    auto make() { return b->receive(); }
    task<> help() {
        co_await turns(2);
        static_cast<void>(co_await a->send("hello"));
    }
};

struct unix_receive_descriptors_row : pair_row {
    static constexpr bool again = true;
    auto make() { return b->receive_with_descriptors(); }
    task<> help() {
        co_await turns(2);
        const std::span<const int> one(&descriptor, 1);
        static_cast<void>(co_await a->send_with_descriptors("hello", one));
    }
};

/// More than fits, so that it waits for the reader.
struct unix_send_row : pair_row {
    std::string text = std::string(1'000'000, 'x');
    auto make() { return a->send(text); }
    task<> help() {
        co_await turns(2);
        co_await drain();
    }
    void ended() { a.reset(); }
};

struct unix_send_descriptors_row : unix_send_row {
    auto make() { return a->send_with_descriptors(text, std::span<const int>(&descriptor, 1)); }
};

struct unix_accept_row : cancel_row {
    static constexpr bool real = true;
    static constexpr bool again = true;
    std::optional<net::unix_listener> l;
    std::optional<net::unix_socket> caller;
    task<> prepare() {
        const std::string name =
            "unix:@coracle-cancel-" + std::to_string(loop::current()->random());
        l.emplace(
            net::unix_listener::open(*loop::current(), net::address::parse(name).value()).value());
        co_return;
    }
    auto make() { return l->accept(); }
    task<> help() {
        co_await turns(2);
        caller.emplace(net::unix_socket::connect(*loop::current(), l->local()).value());
    }
};

constexpr cancel_case cases[] = {
    row<receive_row>("datagram_socket::receive()"),
    row<receive_many_row>("datagram_socket::receive_many(b)"),
    row<send_row>("datagram_socket::send(bytes)"),
    row<send_to_row>("datagram_socket::send_to(bytes, a)"),
    row<reply_row>("datagram_socket::reply(d, bytes)"),
    row<send_segments_row>("datagram_socket::send_segments(bytes, n, a)"),
    row<send_many_row>("datagram_socket::send_many(b)"),
    row<unix_receive_row>("unix_socket::receive(n)"),
    row<unix_receive_descriptors_row>("unix_socket::receive_with_descriptors(n, m)"),
    row<unix_send_row>("unix_socket::send(bytes)"),
    row<unix_send_descriptors_row>("unix_socket::send_with_descriptors(bytes, fds)"),
    row<unix_accept_row>("unix_listener::accept()"),
};

class cancelled_messages : public ::testing::TestWithParam<cancel_case> {};

}  // namespace

TEST_P(cancelled_messages, unwind_and_lose_nothing) {
    GetParam().run();
}

INSTANTIATE_TEST_SUITE_P(net, cancelled_messages, ::testing::ValuesIn(cases),
                         [](const auto& i) { return test_name(i.param.name); });
