// The time for which two joined connections may stand still, in simulated time.

#include "http/proxy/join_streams.hpp"

#include "support/connected.hpp"

#include <coracle/net/byte_stream.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/spawn.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;

constexpr duration idle = 10s;

/// A client and a server, and between them what joins their connections.
struct joined_pairs {
    connection_pair client;
    connection_pair server;

    task<> join(duration limit = idle) { return join(*client.server, limit); }
    task<> join(net::byte_stream& ours, duration limit = idle) {
        http::detached_connection theirs;
        theirs.stream = std::move(server.client);
        auto joining = http::detail::join_streams(ours, buffer(), std::move(theirs), limit);
        co_await std::move(joining);
    }
};

/// Takes all bytes at once and completes when they have gone, like a stream of HTTP/2 whose peer is
/// slow. Nothing comes of it.
class patient_stream final : public net::byte_stream {
public:
    static constexpr duration slow = 7s;

    void shutdown_output() noexcept override {}
    void close(bool) noexcept override {}
    std::int64_t try_send(std::string_view) noexcept override { return -EAGAIN; }
    bool has_input() noexcept override { return false; }
    bool watch_hangup(hangup_watch*) noexcept override { return true; }
    const net::address& peer() const noexcept override { return peer_; }
    loop& owner() const noexcept override { return *loop::current(); }
    bool start(io_operation& op) noexcept override {
        if (op.code == opcode::receive) return false;
        auto& send = static_cast<send_operation&>(op);
        for (const slice& s : send.slices) send.sent += static_cast<std::int64_t>(s.size);
        op.result = send.sent;
        spawn([&op]() -> task<> {
            co_await sleep_for(slow);
            loop::current()->complete_later(op);
        });
        return false;
    }
    void cancel(io_operation& op) noexcept override {
        op.result = -ECANCELED;
        owner().complete_later(op);
    }

private:
    net::address peer_;
};

task<> send_endlessly(net::byte_stream* to) {
    const std::string piece(100'000, 'p');
    for (;;) co_await to->send(piece);
}

/// Reads a piece every three seconds, `times` times.
task<> read_slowly(net::byte_stream* from, std::size_t piece, int times) {
    for (int i = 0; i != times; ++i) {
        co_await sleep_for(3s);
        co_await from->receive(piece);
    }
}

/// Sends one byte every seven seconds, `times` times.
task<> send_slowly(net::byte_stream* to, net::byte_stream* far, int times) {
    for (int i = 0; i != times; ++i) {
        co_await sleep_for(7s);
        co_await to->send("x");
        co_await far->receive();
    }
}

template <class F>
task<> talk_until_cut(F* talk, joined_pairs* all) {
    try {
        co_await (*talk)(*all);
    } catch (const exception&) {
    }
    co_await forever();
}

/// The time for which a join lasts beside what `talk` does.
template <class F>
duration lasts(F talk) {
    simulation sim;
    return sim.run([&]() -> task<duration> {
        joined_pairs all;
        all.client = co_await connected();
        all.server = co_await connected();
        const time_point begun = loop::current()->now();
        auto both = when_any(all.join(), talk_until_cut(&talk, &all));
        co_await std::move(both);
        const duration lasted = loop::current()->now() - begun;
        co_return lasted;
    });
}

TEST(joined_streams, end_where_neither_side_says_anything) {
    const duration silent = lasts([](joined_pairs&) -> task<> { co_return; });
    EXPECT_GE(silent, idle);
    EXPECT_LT(silent, idle + 1s);
}

TEST(joined_streams, end_where_one_side_takes_nothing) {
    const duration stuck =
        lasts([](joined_pairs& all) { return send_endlessly(all.client.client.get()); });
    EXPECT_GE(stuck, idle);
    EXPECT_LT(stuck, idle + 1s);
}

TEST(joined_streams, go_on_while_a_side_says_something_now_and_then) {
    for (const bool from_client : {true, false}) {
        const duration slow = lasts([&](joined_pairs& all) {
            net::byte_stream* const client = all.client.client.get();
            net::byte_stream* const server = all.server.server.get();
            return from_client ? send_slowly(client, server, 5) : send_slowly(server, client, 5);
        });
        EXPECT_GE(slow, 35s + idle);
        EXPECT_LT(slow, 36s + idle);
    }
}

TEST(joined_streams, go_on_while_a_side_takes_something_now_and_then) {
    for (const std::size_t piece : {2'000U, 100'000U}) {
        const duration slow = lasts([piece](joined_pairs& all) -> task<> {
            auto both = when_any(send_endlessly(all.client.client.get()),
                                 read_slowly(all.server.server.get(), piece, 50));
            co_await std::move(both);
        });
        EXPECT_GE(slow, 150s) << piece;
    }
}

TEST(joined_streams, stand_still_from_when_what_was_taken_has_gone) {
    simulation sim;
    sim.run([]() -> task<> {
        joined_pairs all;
        all.server = co_await connected();
        patient_stream ours;
        const time_point begun = loop::current()->now();
        co_await all.server.server->send("x");
        co_await all.join(ours);
        const duration lasted = loop::current()->now() - begun;
        EXPECT_GE(lasted, patient_stream::slow + idle);
        EXPECT_LT(lasted, patient_stream::slow + idle + 1s);
    });
}

TEST(joined_streams, that_ended_in_order_are_closed_and_others_reset) {
    for (const bool in_order : {true, false}) {
        simulation sim;
        sim.run([in_order]() -> task<> {
            joined_pairs all;
            all.client = co_await connected();
            all.server = co_await connected();
            const std::string last(60'000, 'l');
            co_await all.client.client->send(last);
            if (in_order) {
                all.client.client->shutdown_output();
                all.server.server->shutdown_output();
            }
            co_await all.join();
            EXPECT_EQ(co_await read_exactly(*all.server.server, last.size()), last);
            auto end = co_await as_result(all.server.server->receive());
            EXPECT_FALSE(end);
            if (end) co_return;
            EXPECT_EQ(end.error() == errc::end_of_stream, in_order) << end.error();
        });
    }
}

// An end in order would make a part of what was sent look like the whole.
TEST(joined_streams, that_one_side_breaks_off_are_reset_for_the_other) {
    for (const bool by_server : {true, false}) {
        simulation sim;
        sim.run([by_server]() -> task<> {
            joined_pairs all;
            all.client = co_await connected();
            all.server = co_await connected();
            net::byte_stream& from = by_server ? *all.server.server : *all.client.client;
            net::byte_stream& to = by_server ? *all.client.client : *all.server.server;
            const auto break_off = [&]() -> task<> {
                co_await from.send("a part");
                co_await sleep_for(1s);
                from.close(true);
            };
            co_await when_all(all.join(), break_off());
            EXPECT_EQ(co_await read_exactly(to, 6), "a part");
            auto end = co_await as_result(to.receive());
            EXPECT_TRUE(!end && end.error() != errc::end_of_stream);
        });
    }
}

TEST(joined_streams, may_stand_still_for_ever) {
    simulation sim;
    sim.run([]() -> task<> {
        joined_pairs all;
        all.client = co_await connected();
        all.server = co_await connected();
        const auto talk = [&]() -> task<> {
            co_await sleep_for(24h);
            co_await all.client.client->send("x");
            EXPECT_EQ(co_await read_exactly(*all.server.server, 1), "x");
            all.client.client->shutdown_output();
            all.server.server->shutdown_output();
        };
        co_await when_all(all.join(duration::zero()), talk());
    });
}

}  // namespace
}  // namespace coracle::testing
