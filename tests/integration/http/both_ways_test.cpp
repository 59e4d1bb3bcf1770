// Handlers that read the body of a request while they write their response.

#include "support/both_ways.hpp"

#include "support/each_version.hpp"

#include <coracle/runtime/channel.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/simulation.hpp>

#include <optional>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;

class both_ways : public each_version {
protected:
    /// Runs `f(client, url)` in simulated worlds with a server of this handler.
    template <class F>
    void in_worlds(const http::handler& h, F f, http::server_timeouts t = {}) {
        for (const std::uint64_t seed : seeds(8)) {
            simulation_options s;
            s.seed = seed;
            simulation world(s);
            SCOPED_TRACE(world.replay());
            local_server_options o;
            o.timeouts = t;
            local_server server(world.loop(), h, o);
            world.run([&]() -> task<> {
                http::client client(options());
                co_await f(client, server.url());
                server.stop();
                co_await server.stopped();
            });
            if (HasFailure()) return;
        }
    }
};

/// Sends back what it receives: reads in one task, and writes in another.
http::response echo_in_two_tasks(http::request& req) {
    return http::stream([&req](http::body_writer& out) -> task<> {
        channel<std::string> pieces(4);
        const auto read = [&]() -> task<> {
            for (;;) {
                const std::string_view piece = co_await req.body().read();
                if (piece.empty()) break;
                co_await pieces.send(std::string(piece));
            }
            pieces.close();
        };
        const auto write = [&]() -> task<> {
            co_await out.flush();
            while (auto piece = co_await pieces.receive()) co_await out.write(*piece);
        };
        co_await when_all(read(), write());
    });
}

TEST_P(both_ways, carry_what_two_tasks_read_and_write) {
    in_worlds(echo_in_two_tasks, [](http::client& client, std::string url) {
        return echo_much(client, std::move(url), 20);
    });
}

TEST_P(both_ways, have_one_read_at_a_time) {
    const auto reads_twice = [](http::request& req) -> task<http::response> {
        std::string failure;
        const auto read = [&]() -> task<> {
            auto reading = req.body().read();
            const auto piece = co_await as_result(reading);
            if (!piece) failure += piece.error().code().message();
        };
        co_await when_all(read(), read());
        co_return http::response(failure);
    };
    in_worlds(reads_twice, [](http::client& client, std::string url) -> task<> {
        const auto late = [](http::body_writer& out) -> task<> {
            co_await out.flush();
            co_await sleep_for(1s);
            co_await out.write("late");
        };
        auto calling = client.post(url).body(http::body::stream(late));
        auto r = co_await calling;
        EXPECT_EQ(co_await r.text(), "Operation now in progress");
    });
}

TEST_P(both_ways, have_one_write_at_a_time) {
    std::string failure;
    const auto writes_twice = [&](http::request&) {
        return http::stream([&](http::body_writer& out) -> task<> {
            const std::string large(3'000'000, 'l');
            const auto write = [&]() -> task<> {
                auto writing = out.write(large);
                const auto written = co_await as_result(writing);
                if (!written) failure += written.error().code().message();
            };
            co_await when_all(write(), write());
        });
    };
    in_worlds(writes_twice, [&](http::client& client, std::string url) -> task<> {
        auto calling = client.get(url);
        auto r = co_await calling;
        EXPECT_EQ((co_await r.text(8'000'000)).size(), 3'000'000U);
        EXPECT_EQ(std::exchange(failure, ""), "Operation now in progress");
    });
}

TEST_P(both_ways, time_out_by_the_body_while_the_response_moves) {
    http::server_timeouts t;
    t.body = 2s;
    std::optional<duration> waited;
    std::optional<std::error_code> failure;
    const auto handler = [&](http::request& req) {
        return http::stream([&](http::body_writer& out) -> task<> {
            const auto read = [&]() -> task<> {
                const time_point began = loop::current()->now();
                auto reading = req.body().read();
                const auto piece = co_await as_result(reading);
                if (!piece) failure = piece.error().code();
                waited = loop::current()->now() - began;
            };
            const auto write = [&]() -> task<> {
                const std::string piece(50'000, 'w');
                for (int i = 0; i != 40; ++i) co_await out.write(piece);
            };
            co_await when_all(read(), write());
        });
    };
    const auto talk = [&](http::client& client, std::string url) -> task<> {
        waited.reset();
        failure.reset();
        const auto silent = [](http::body_writer& out) -> task<> {
            co_await out.flush();
            co_await forever();
        };
        std::size_t received = 0;
        const auto receive = [&](http::response& r) -> task<> {
            while (received != 2'000'000U) {
                const std::string_view some = co_await r.read();
                if (some.empty()) co_return;
                received += some.size();
                co_await sleep_for(some.size() * 4us);
            }
        };
        co_await client.post(url).body(http::body::stream(silent)).duplex(receive);
        EXPECT_EQ(received, 2'000'000U);
        EXPECT_EQ(failure, std::make_error_code(std::errc::timed_out));
        EXPECT_GE(waited.value_or(0s), 2s);
        EXPECT_LE(waited.value_or(0s), 3s);
    };
    in_worlds(handler, talk, t);
}

TEST_P(both_ways, time_out_by_the_response_while_the_body_comes) {
    http::server_timeouts t;
    t.write = 2s;
    bool has_failed = false;
    int pieces = 0;
    duration waited{};
    const auto handler = [&](http::request& req) {
        return http::stream([&](http::body_writer& out) -> task<> {
            const auto read = [&]() -> task<> {
                for (;;) {
                    auto reading = req.body().read();
                    const auto piece = co_await as_result(reading);
                    if (!piece || piece->empty()) co_return;
                    ++pieces;
                }
            };
            const auto write = [&]() -> task<> {
                const time_point began = loop::current()->now();
                const std::string much(30'000'000, 'w');
                auto writing = out.write(much);
                const auto written = co_await as_result(writing);
                has_failed = !written;
                waited = loop::current()->now() - began;
                if (!written) throw_exception(written.error());
            };
            co_await when_all(read(), write());
        });
    };
    const auto talk = [&](http::client& client, std::string url) -> task<> {
        has_failed = false;
        pieces = 0;
        const auto slow = [](http::body_writer& out) -> task<> {
            for (;;) {
                co_await out.write("piece");
                co_await sleep_for(100ms);
            }
        };
        const auto reads_late = [](http::response& r) -> task<> {
            co_await sleep_for(20s);
            while (!(co_await r.read()).empty()) {
            }
        };
        auto calling = client.post(url).body(http::body::stream(slow)).duplex(reads_late);
        EXPECT_FALSE(co_await as_result(calling));
        co_await sleep_for(1s);
        EXPECT_TRUE(has_failed);
        EXPECT_GT(pieces, 10);
        EXPECT_GE(waited, 2s);
        EXPECT_LE(waited, 7s);
    };
    in_worlds(handler, talk, t);
}

INSTANTIATE_TEST_SUITE_P(over, both_ways, both_versions(), version_name);

}  // namespace
}  // namespace coracle::testing
