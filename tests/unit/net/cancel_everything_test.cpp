#include "support/cancel_everywhere.hpp"
#include "support/connected.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/net/listener.hpp>
#include <coracle/net/serve.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

// As tests/unit/runtime/cancel_everything_test.cpp, for what streams and listeners give to await.

using namespace coracle;
using namespace coracle::testing;

namespace {

/// Reads until nothing has come for a while.
task<> drain(net::byte_stream& s) {
    for (;;) {
        auto some = co_await as_result(with_timeout(std::chrono::milliseconds(1), s.receive()));
        if (!some) co_return;
    }
}

struct pair_row : cancel_row {
    connection_pair both;
    task<> prepare() { both = co_await connected(); }
};

struct receive_row : pair_row {
    static constexpr bool again = true;
    auto make() { return both.server->receive(); }
    task<> help() {
        co_await turns(2);
        static_cast<void>(co_await both.client->send("hello"));
    }
};

struct receive_into_row : pair_row {
    static constexpr bool again = true;
    auto make() { return both.server->receive_into(buffer(100)); }
    task<> help() {
        co_await turns(2);
        static_cast<void>(co_await both.client->send("hello"));
    }
};

/// More than fits, so that it waits for the reader.
struct send_row : pair_row {
    std::string text = std::string(200'000, 'x');
    auto make() { return both.client->send(text); }
    task<> help() {
        co_await turns(2);
        // All of it, or up to where a cancelled one has stopped.
        co_await drain(*both.server);
    }
};

struct send_file_row : pair_row {
    temporary_directory place;
    int file = -1;
    std::string text = std::string(200'000, 'x');
    task<> prepare() {
        co_await pair_row::prepare();
        file = ::open(place.write("file", text).c_str(), O_RDONLY | O_CLOEXEC);
        EXPECT_GE(file, 0);
    }
    auto make() { return both.client->send_file(file, 0, text.size()); }
    task<> help() {
        co_await turns(2);
        co_await drain(*both.server);
    }
    task<> finish() {
        ::close(file);
        co_return;
    }
};

struct connect_row : cancel_row {
    static constexpr bool again = true;
    std::optional<net::listener> l;
    task<> prepare() {
        l.emplace(net::listener::open(*loop::current(), loopback()).value());
        co_return;
    }
    auto make() { return net::connect(l->local()); }
};

struct accept_row : connect_row {
    std::unique_ptr<net::socket> caller;
    auto make() { return l->accept(); }
    task<> help() {
        co_await turns(2);
        caller = co_await net::connect(l->local());
    }
};

/// Cancelled in the midst of a connection, it waits for its handler.
struct serve_row : cancel_row {
    static constexpr bool endless = true;
    std::optional<net::listener> l;
    std::unique_ptr<net::socket> client;
    net::serve_options o;
    task<> prepare() {
        l.emplace(*net::listener::open(*loop::current(), loopback()));
        o.drain = std::chrono::milliseconds(1);
        co_return;
    }
    auto make() {
        auto handler = [](std::unique_ptr<net::socket> peer) -> task<> {
            co_await as_result(peer->receive());
        };
        return net::serve(*l, handler, o);
    }
    task<> help() {
        auto connected = co_await as_result(net::connect(l->local()));
        if (connected) client = *std::move(connected);
    }
};

constexpr cancel_case cases[] = {
    row<receive_row>("byte_stream::receive(n)"),
    row<receive_into_row>("byte_stream::receive_into(b)"),
    row<send_row>("byte_stream::send(pieces)"),
    row<send_file_row>("byte_stream::send_file(fd, at, n)"),
    row<connect_row>("net::connect(address)"),
    row<accept_row>("listener::accept()"),
    row<serve_row>("net::serve(l, f, o)"),
};

class cancelled_in_the_network : public ::testing::TestWithParam<cancel_case> {};

}  // namespace

TEST_P(cancelled_in_the_network, unwinds_and_loses_nothing) {
    GetParam().run();
}

INSTANTIATE_TEST_SUITE_P(net, cancelled_in_the_network, ::testing::ValuesIn(cases),
                         [](const auto& i) { return test_name(i.param.name); });
