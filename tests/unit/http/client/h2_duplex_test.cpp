// `call::duplex` over HTTP/2, behind the end of its response.

#include "support/h2_script_calls.hpp"

#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/spawn.hpp>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using connection = h2_script_connection;
using request = h2_script_stream;

const std::string large(300'000, 'u');

/// Sends a body a second after the head.
task<> send_late(http::body_writer& out) {
    co_await out.flush();
    co_await sleep_for(1s);
    co_await out.write(large);
}

TEST(client_h2_duplex, sends_on_behind_a_response_that_is_whole) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        peer.on_head = [](connection& c, request& r) { c.respond(r, "early"); };
        peer.on_end = [](connection&, request&) {};
        std::string text;
        const auto read = [&](http::response& r) -> task<> { text = co_await r.text(); };
        co_await client.post(peer.url()).body(http::body::stream(send_late)).duplex(read);
        EXPECT_EQ(text, "early");
        co_await sleep_for(1s);
        EXPECT_TRUE(peer.connections[0]->streams[0]->complete);
        EXPECT_EQ(peer.connections[0]->streams[0]->body, large);
    });
}

TEST(client_h2_duplex, sends_on_behind_a_response_whose_end_is_late) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        peer.on_head = [](connection& c, request& r) {
            c.respond(r, 200, {{"content-length", "0"}}, {}, false);
            spawn([&c, &r]() -> task<> {
                co_await sleep_for(100ms);
                c.send(r, {}, true);
            });
        };
        peer.on_end = [](connection&, request&) {};
        const auto ignore = [](http::response&) -> task<> { co_return; };
        co_await client.post(peer.url()).body(http::body::stream(send_late)).duplex(ignore);
        co_await sleep_for(1s);
        EXPECT_TRUE(peer.connections[0]->streams[0]->complete);
        EXPECT_EQ(peer.connections[0]->streams[0]->body, large);
    });
}

TEST(client_h2_duplex, ends_when_the_server_takes_no_more_behind_its_response) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        peer.on_head = [](connection& c, request& r) { c.respond(r, "early"); };
        const auto silent = [](http::body_writer& out) -> task<> {
            co_await out.flush();
            co_await forever();
        };
        const auto read = [&](http::response& r) -> task<> {
            EXPECT_EQ(co_await r.text(), "early");
            connection& c = *peer.connections[0];
            c.reset(*c.streams[0], http::h2::error_code::no_error);
        };
        co_await client.post(peer.url()).body(http::body::stream(silent)).duplex(read);
    });
}

}  // namespace
}  // namespace coracle::testing
