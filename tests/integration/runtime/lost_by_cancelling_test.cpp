// Operations whose cancellation loses nothing keep that promise also when the task has used up its
// share of a turn, so that the result is there and yet the task has to wait: for every such
// operation, on each backend and in a simulation.

#include "support/selections.hpp"
#include "unit/tls/tls_pair.hpp"

#include <coracle/http/client.hpp>
#include <coracle/io/kernel_pipe.hpp>
#include <coracle/io/memory.hpp>
#include <coracle/io/reader.hpp>
#include <coracle/net/datagram_socket.hpp>
#include <coracle/net/unix_socket.hpp>
#include <coracle/process/pseudo_terminal.hpp>
#include <coracle/runtime/broadcast.hpp>
#include <coracle/runtime/channel.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/semaphore.hpp>
#include <coracle/runtime/signals.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/simulation.hpp>
#include <coracle/websocket/connect.hpp>
#include <coracle/websocket/route.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

constexpr auto bytes_of = [](const buffer& b) { return b.size(); };

task<> receives_from(net::byte_stream& from, net::byte_stream& to, std::size_t size) {
    const std::string text(size, 'x');
    const auto send = [&]() -> task<> { co_await to.send(text); };
    const auto receive = [&]() -> task<> {
        co_await settle();
        const auto piece = [&] { return from.receive(64); };
        const std::size_t came = co_await collect(piece, bytes_of, size / 2);
        const auto into = [&] { return from.receive_into(buffer(64)); };
        const std::size_t rest = co_await collect(into, bytes_of, size - came);
        EXPECT_EQ(came + rest, size);
    };
    co_await when_all(send(), receive());
}

task<> streams() {
    auto both = co_await connected();
    co_await receives_from(*both.server, *both.client, 20'000);
}

task<> encrypted_streams() {
    const tls_world world;
    tls::server_context server(world.server_options());
    tls::client_context client(world.client_options());
    tls_pair both = co_await shake_hands(client, server, "localhost");
    EXPECT_TRUE(both.client && both.server);
    if (!both.client || !both.server) co_return;
    co_await receives_from(**both.server, **both.client, 20'000);
    co_await receives_from(**both.client, **both.server, 20'000);
}

task<> accepts() {
    constexpr std::size_t n = 50;
    auto l = net::listener::open(*loop::current(), loopback());
    EXPECT_TRUE(l);
    std::vector<std::unique_ptr<net::socket>> clients;
    for (std::size_t i = 0; i != n; ++i) clients.push_back(co_await net::connect(l->local()));
    co_await settle();
    const auto accept = [&] { return l->accept(); };
    EXPECT_EQ(co_await collect(accept, one, n), n);
}

task<> datagrams() {
    constexpr std::size_t n = 50;
    auto from = net::datagram_socket::open(*loop::current(), loopback());
    auto to = net::datagram_socket::open(*loop::current(), loopback());
    EXPECT_TRUE(from && to);
    for (std::size_t i = 0; i != n; ++i) co_await from->send_to("datagram", to->local());
    co_await settle();
    const auto receive = [&] { return to->receive(); };
    EXPECT_EQ(co_await collect(receive, one, n), n);
    for (std::size_t i = 0; i != n; ++i) co_await from->send_to("datagram", to->local());
    co_await settle();
    net::datagram_batch batch(3);
    const auto receive_many = [&] { return to->receive_many(batch); };
    const auto itself = [](std::size_t count) { return count; };
    EXPECT_EQ(co_await collect(receive_many, itself, n), n);
}

task<> channels() {
    constexpr std::size_t n = 50;
    channel<int> values(n);
    for (int i = 0; i != int{n}; ++i) EXPECT_TRUE(values.try_send(i));
    const auto receive = [&] { return values.receive(); };
    EXPECT_EQ(co_await collect(receive, one, n), n);
    broadcast<int> news(n);
    auto reader = news.subscribe();
    for (int i = 0; i != int{n}; ++i) EXPECT_TRUE(news.try_send(i));
    const auto read = [&] { return reader.receive(); };
    EXPECT_EQ(co_await collect(read, one, n), n);
    semaphore permits(n);
    const auto acquire = [&] { return permits.acquire(); };
    EXPECT_EQ(co_await collect(acquire, one, n), n);
    EXPECT_EQ(permits.available(), 0u);
}

task<> messages() {
    constexpr std::size_t n = 50;
    for (const auto kind : {net::unix_kind::seqpacket, net::unix_kind::datagram}) {
        auto both = net::unix_socket::pair(*loop::current(), kind);
        EXPECT_TRUE(both);
        const auto send = [&]() -> task<> {
            for (std::size_t i = 0; i != n; ++i) co_await both->first.send("message");
        };
        const auto collects = [&]() -> task<> {
            const auto receive = [&] { return both->second.receive(); };
            const std::size_t came = co_await collect(receive, one, n);
            EXPECT_EQ(came, n);
        };
        co_await when_all(send(), collects());
    }
}

task<> descriptors() {
    constexpr std::size_t n = 50;
    auto both = net::unix_socket::pair(*loop::current(), net::unix_kind::seqpacket);
    EXPECT_TRUE(both);
    const int passed[] = {0};
    const auto send = [&]() -> task<> {
        for (std::size_t i = 0; i != n; ++i) {
            co_await both->first.send_with_descriptors("message", passed);
        }
    };
    const auto collects = [&]() -> task<> {
        const auto receive = [&] { return both->second.receive_with_descriptors(64, 1); };
        const auto its = [](const auto& m) { return m.descriptors.size(); };
        const std::size_t came = co_await collect(receive, its, n);
        EXPECT_EQ(came, n);
    };
    co_await when_all(send(), collects());
}

task<> accepts_messengers() {
    constexpr std::size_t n = 50;
    loop& l = *loop::current();
    const auto at = net::address::parse("unix:@coracle-lost-" + std::to_string(::getpid()));
    auto listener = net::unix_listener::open(l, *at);
    EXPECT_TRUE(listener);
    std::vector<net::unix_socket> clients;
    for (std::size_t i = 0; i != n; ++i) {
        auto client = net::unix_socket::connect(l, *at);
        EXPECT_TRUE(client);
        clients.push_back(*std::move(client));
    }
    const auto accept = [&] { return listener->accept(); };
    EXPECT_EQ(co_await collect(accept, one, n), n);
}

task<> pipes() {
    auto both = io::make_pipe();
    EXPECT_TRUE(both);
    co_await receives_from(*both->reader, *both->writer, 20'000);
}

task<> signals() {
    constexpr std::size_t n = 50;
    const int queued = SIGRTMIN + 3;
    signal_set wanted{queued};
    for (std::size_t i = 0; i != n; ++i) EXPECT_EQ(::kill(::getpid(), queued), 0);
    const auto next = [&] { return wanted.next(); };
    EXPECT_EQ(co_await collect(next, one, n), n);
    for (std::size_t i = 0; i != n; ++i) EXPECT_EQ(::kill(::getpid(), queued), 0);
    const auto next_received = [&] { return wanted.next_received(); };
    EXPECT_EQ(co_await collect(next_received, one, n), n);
    // One by one, each while it is waited for.
    std::size_t raised = 0;
    std::size_t came = 0;
    for (std::size_t i = 0; i != n; ++i) {
        const auto raise = [&]() -> task<> {
            co_await yield();
            if (::kill(::getpid(), queued) == 0) ++raised;
            co_await yield();
        };
        auto first = co_await when_any(wanted.next(), raise());
        if (first.index == 0) ++came;
    }
    came += co_await collect(next, one, raised - came);
    EXPECT_EQ(came, raised);
}

/// Members of a selection that begin when it has ended.
task<> late_members() {
    event set;
    set.set();
    const int queued = SIGRTMIN + 3;
    signal_set wanted{queued};
    EXPECT_EQ(::kill(::getpid(), queued), 0);
    io::memory_source text("before\nfirst\n");
    io::reader lines(text);
    // The next one is in its block.
    static_cast<void>(co_await lines.read_line());
    const auto waits = [&]() -> task<int> { co_return co_await wanted.next(); };
    for (int i = 0; i != 3; ++i) {
        auto no_signal = co_await when_any(set.wait(), wanted.next());
        EXPECT_EQ(no_signal.index, 0U);
        auto none_either = co_await when_any(set.wait(), waits());
        EXPECT_EQ(none_either.index, 0U);
        auto no_line = co_await when_any(set.wait(), lines.read_line());
        EXPECT_EQ(no_line.index, 0U);
    }
    const auto fails = []() -> task<> {
        throw_exception(error(std::errc::io_error, "test"));
        co_return;
    };
    auto all = when_all(fails(), lines.read_line());
    EXPECT_FALSE(co_await as_result(all));
    EXPECT_EQ(co_await wanted.next(), queued);
    auto line = co_await lines.read_line();
    EXPECT_EQ(line, "first");
}

task<> websocket_messages_over(http::version_choice version) {
    constexpr std::size_t n = 50;
    http::router routes;
    websocket::route(routes, "/", [](websocket::connection& ws) -> task<> {
        for (std::size_t i = 0; i != n; ++i) co_await ws.send("a message");
        while (auto message = co_await ws.receive()) co_await ws.send(*message);
    });
    const local_server server(std::move(routes));
    http::client_options o;
    o.http_version = version;
    http::client client(o);
    auto ws = co_await websocket::connect(client,
                                          "ws://127.0.0.1:" + std::to_string(server.port()) + "/");
    const auto receive = [&] { return ws.receive(); };
    EXPECT_EQ(co_await collect_late(receive, one, n), n);
    const std::string text(2000, 'x');
    for (std::size_t i = 0; i != n; ++i) co_await ws.send(text);
    const auto receive_piece = [&] { return ws.receive_piece(); };
    const auto size = [](const auto& piece) { return piece ? piece->bytes.size() : 0; };
    EXPECT_EQ(co_await collect_late(receive_piece, size, n * text.size()), n * text.size());
    co_await ws.close();
}

task<> websocket_messages() {
    co_await websocket_messages_over(http::version_choice::http_1_1);
    co_await websocket_messages_over(http::version_choice::http_2);
}

task<> sizes_of_a_terminal() {
    auto terminal = process::pseudo_terminal::open();
    EXPECT_TRUE(terminal);
    const io::terminal at = terminal->terminal();
    io::window_changes changes(at);
    const auto next = [&] { return changes.next(); };
    for (unsigned i = 1; i != 50; ++i) {
        EXPECT_TRUE(at.set_size({i, 25}));
        EXPECT_EQ(::kill(::getpid(), SIGWINCH), 0);
        const auto is_new = [&](io::window_size s) { return std::size_t{s.columns == i}; };
        EXPECT_EQ(co_await collect(next, is_new, 1), 1U) << i;
    }
}

class lost_by_cancelling : public ::testing::TestWithParam<backend_case> {
protected:
    loop_on on{GetParam()};
};

}  // namespace

TEST_P(lost_by_cancelling, no_byte_of_a_stream) {
    on.run(streams);
}
TEST_P(lost_by_cancelling, no_byte_of_an_encrypted_stream) {
    on.run(encrypted_streams);
}
TEST_P(lost_by_cancelling, no_connection) {
    on.run(accepts);
    on.run(accepts_messengers);
}
TEST_P(lost_by_cancelling, no_datagram) {
    on.run(datagrams);
}
TEST_P(lost_by_cancelling, no_message_of_a_unix_socket) {
    on.run(messages);
}
TEST_P(lost_by_cancelling, no_descriptor_that_comes_with_a_message) {
    on.run(descriptors);
}
TEST_P(lost_by_cancelling, no_byte_of_a_pipe) {
    on.run(pipes);
}
TEST_P(lost_by_cancelling, no_signal) {
    on.run(signals);
}
TEST_P(lost_by_cancelling, nothing_that_a_late_member_would_take) {
    on.run(late_members);
}
TEST_P(lost_by_cancelling, no_message_of_a_websocket) {
    on.run(websocket_messages);
}
TEST_P(lost_by_cancelling, no_size_of_a_terminal) {
    on.run(sizes_of_a_terminal);
}
TEST_P(lost_by_cancelling, no_value_or_permit) {
    on.run(channels);
}

INSTANTIATE_TEST_SUITE_P(each, lost_by_cancelling, ::testing::ValuesIn(each_backend()),
                         [](const auto& of) { return std::string(of.param.name); });

TEST(lost_by_cancelling_simulated, nothing) {
    // The certificates are of today.
    const std::int64_t today =
        block_on([]() -> task<std::int64_t> { co_return loop::current()->unix_time(); });
    for (const std::uint64_t seed : seeds(10)) {
        simulation(seed).run(streams);
        simulation(seed).run(channels);
        simulation_options o;
        o.seed = seed;
        o.unix_time = today;
        simulation(o).run(accepts);
        simulation(o).run(datagrams);
        simulation(o).run(encrypted_streams);
    }
}
