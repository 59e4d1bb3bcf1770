// Uploads to a server that takes its time, in virtual time: the limits are for silence.

#include "support/each_version.hpp"

#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t body_size = 2 * 1024 * 1024;

/// Reads a piece each tenth of a second, or none.
task<http::response> read_slowly(http::request& req) {
    if (req.path() == "/never") co_await forever();
    std::size_t size = 0;
    for (;;) {
        const std::string_view piece = co_await req.body().read();
        if (piece.empty()) break;
        size += piece.size();
        co_await sleep_for(100ms);
    }
    co_return std::to_string(size);
}

class slow_uploads : public each_version {
protected:
    template <class F>
    void run(F test) {
        sim_.run([&]() -> task<> {
            local_server server(sim_.loop(), read_slowly);
            http::client_options o = options();
            o.proxy_from_environment = false;
            o.idle_timeout = 1s;
            o.first_byte_timeout = 0s;
            http::client client(o);
            co_await test(client, server);
            server.stop();
            co_await server.stopped();
        });
    }
    simulation sim_{1};
};

}  // namespace

TEST_P(slow_uploads, are_not_idle_while_they_get_on) {
    run([this](http::client& client, const local_server& server) -> task<> {
        const time_point began = sim_.now();
        auto from_memory = client.post(server.url()).body(std::string(body_size, 'x')).full();
        const http::full_response one = co_await from_memory;
        EXPECT_EQ(one.body, std::to_string(body_size));
        EXPECT_GT(sim_.now() - began, 3s) << "it is no test of the limit";
        auto in_one_piece = client.post(server.url())
                                .body(http::body::stream([](http::body_writer& out) -> task<> {
                                    const std::string piece(body_size, 'x');
                                    co_await out.write(piece);
                                }))
                                .full();
        const http::full_response other = co_await in_one_piece;
        EXPECT_EQ(other.body, std::to_string(body_size));
    });
}

TEST_P(slow_uploads, are_idle_where_nothing_is_taken) {
    run([this](http::client& client, const local_server& server) -> task<> {
        const time_point began = sim_.now();
        auto sending = client.post(server.url("/never")).body(std::string(body_size, 'x')).full();
        const auto sent = co_await as_result(sending);
        EXPECT_FALSE(sent);
        if (sent) co_return;
        EXPECT_EQ(sent.error(), std::errc::timed_out);
        EXPECT_EQ(sent.error().phase(), phase::send);
        EXPECT_LT(sim_.now() - began, 5s);
    });
}

// Its calls share the socket, so the limit is no option of one of them.
TEST(a_server_of_http_2, that_reads_nothing_for_a_minute_or_two_is_given_up) {
    // An upload may fill all windows: those of streams, and that of the connection.
    const std::string wide(
        "\0\0\6\4\0\0\0\0\0\0\4\x7f\xff\xff\xff"
        "\0\0\4\x8\0\0\0\0\0\x7f\xff\0\0",
        28);
    simulation sim(1);
    scripted_peer peer(sim.loop(), script().read_until("SM\r\n\r\n").send(wide).stall());
    sim.run([&]() -> task<> {
        http::client_options o;
        o.proxy_from_environment = false;
        o.http_version = http::version_choice::http_2;
        o.idle_timeout = o.first_byte_timeout = 0s;
        http::client client(o);
        const time_point began = sim.now();
        const std::string large(50'000'000, 'x');
        auto sending = client.post(peer.url()).body(large).full();
        const auto sent = co_await as_result(sending);
        EXPECT_FALSE(sent);
        if (!sent) {
            EXPECT_EQ(sent.error(), std::errc::timed_out);
        }
        EXPECT_GE(sim.now() - began, 60s);
        // Looks each minute for what was taken.
        EXPECT_LT(sim.now() - began, 125s);
        EXPECT_EQ(client.statistics().connections, 0U);
        peer.stop();
    });
}

INSTANTIATE_TEST_SUITE_P(over, slow_uploads, both_versions(), version_name);
