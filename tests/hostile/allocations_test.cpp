// The cost of one small keep-alive exchange: no allocation, one recv, one send and one wait; with
// io_uring the recv is the kernel's own.

#include "support/allocation_count.hpp"
#include "support/blocking_peer.hpp"

#include <coracle/net/socket.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/peer.hpp>
#include <coracle/tls/stream.hpp>
#include <coracle/websocket/route.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

namespace coracle {
namespace {

constexpr unsigned warm_up = 2'000;
constexpr unsigned measured = 10'000;

struct figures {
    std::string_view backend;
    std::size_t allocations = 0;
    std::uint64_t system_calls = 0;
    std::uint64_t waits = 0;

    /// Returns the figures of the loop whose thread this is.
    static figures now() {
        const backend_counters& c = loop::current()->backend().counters();
        return {loop::current()->backend().name(), testing::allocations(), c.system_calls, c.waits};
    }
};

/// System calls besides the wait for one read and its response. A kernel before 6.0 needs the recv.
unsigned calls_on(std::string_view backend) {
    return backend == "uring" ? 1 : 2;
}

/// Says hello, and takes the figures when the measured requests begin and end.
struct measured_hello {
    std::atomic<unsigned> requests = 0;  // one writer, and the test that looks
    figures before;
    figures after;

    const char* respond() {
        const unsigned n = requests.load(std::memory_order_relaxed);
        if (n == warm_up) before = figures::now();
        if (n == warm_up + measured) after = figures::now();
        requests.store(n + 1, std::memory_order_relaxed);
        return "Hello, World!\n";
    }
};

void ask(testing::blocking_peer& peer, std::string_view requests, unsigned rounds,
         std::string_view end) {
    for (unsigned i = 0; i != rounds; ++i) {
        ASSERT_TRUE(peer.send(requests)) << i;
        ASSERT_TRUE(peer.receive_until(end)) << i;
    }
}

constexpr std::string_view one = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
constexpr std::string_view end = "Hello, World!\n";

TEST(allocations, none_for_a_request_in_steady_state) {
    if (!testing::counts_allocations()) GTEST_SKIP() << "allocations are not counted in this build";
    measured_hello hello;
    {
        http::router routes;
        routes.get("/", [&hello](http::request&) { return hello.respond(); });
        http::server_options o;
        o.listen = "127.0.0.1:0";
        o.limits.requests = warm_up + measured + 1;
        const testing::local_server server(routes, o);
        testing::blocking_peer peer(server.port());
        ask(peer, one, warm_up + measured + 1, end);
    }
    EXPECT_EQ(hello.after.allocations, hello.before.allocations);
}

TEST(allocations, none_for_a_coroutine_handler_in_steady_state) {
    if (!testing::counts_allocations()) GTEST_SKIP() << "allocations are not counted in this build";
    measured_hello hello;
    {
        http::router routes;
        routes.get("/",
                   [&hello](http::request&) -> task<http::response> { co_return hello.respond(); });
        http::server_options o;
        o.listen = "127.0.0.1:0";
        o.limits.requests = warm_up + measured + 1;
        const testing::local_server server(routes, o);
        testing::blocking_peer peer(server.port());
        ask(peer, one, warm_up + measured + 1, end);
    }
    EXPECT_EQ(hello.after.allocations, hello.before.allocations);
}

/// Upgrades `count` connections, which stay.
std::vector<testing::blocking_peer> upgraded(std::uint16_t port, unsigned count) {
    std::vector<testing::blocking_peer> all;
    for (unsigned i = 0; i != count; ++i) {
        all.emplace_back(port);
        EXPECT_TRUE(
            all.back().send("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
                            "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"));
        EXPECT_TRUE(all.back().receive_until("\r\n\r\n"));
    }
    return all;
}

TEST(allocations, are_at_most_4700_bytes_for_an_idle_websocket) {
    if (!testing::counts_allocations()) GTEST_SKIP() << "allocations are not counted in this build";
    // Written on the loop, and read once it has ended.
    std::string backend;
    std::vector<std::size_t> bytes;
    {
        http::router routes;
        websocket::route(routes, "/", [&](websocket::connection& ws) -> task<> {
            backend = loop::current()->backend().name();
            bytes.push_back(testing::allocated_bytes());
            co_await ws.receive();
        });
        http::server_options o;
        o.listen = "127.0.0.1:0";
        const testing::local_server server(routes, o);
        const auto held = upgraded(server.port(), 111);
    }
    ASSERT_EQ(bytes.size(), 111U);
    if (backend == "poll") return;  // its tables double meanwhile
    EXPECT_LE((bytes[110] - bytes[70]) / 40, 4700U);
}

// OpenSSL's own are malloc's, which this does not count: it is ours that are none.
TEST(allocations, none_for_a_request_over_tls_in_steady_state) {
    if (!testing::counts_allocations()) GTEST_SKIP() << "allocations are not counted in this build";
    measured_hello hello;
    {
        http::router routes;
        routes.get("/", [&hello](http::request&) { return hello.respond(); });
        testing::local_server_options o;
        o.self_signed = true;
        o.limits.requests = warm_up + measured + 1;
        const testing::local_server server(routes, o);
        tls::client_options co;
        co.system_authorities = false;
        co.authorities = server.authorities();
        block_on([&]() -> task<> {
            tls::client_context c(co);
            auto plain = co_await net::connect(net::address::v4({127, 0, 0, 1}, server.port()));
            testing::peer peer(co_await tls::connect(c, std::move(plain), "127.0.0.1"));
            for (unsigned i = 0; i != warm_up + measured + 1; ++i) {
                co_await peer.send(std::string(one));
                co_await peer.read_until(std::string(end));
            }
        });
    }
    EXPECT_NE(hello.after.waits, hello.before.waits);
    EXPECT_EQ(hello.after.allocations, hello.before.allocations);
}

TEST(system_calls, are_one_recv_one_send_and_one_wait_for_a_request) {
    measured_hello hello;
    {
        http::router routes;
        routes.get("/", [&hello](http::request&) { return hello.respond(); });
        http::server_options o;
        o.listen = "127.0.0.1:0";
        o.limits.requests = warm_up + measured + 1;
        const testing::local_server server(routes, o);
        testing::blocking_peer peer(server.port());
        ask(peer, one, warm_up + measured + 1, end);
    }
    EXPECT_EQ(hello.after.system_calls - hello.before.system_calls,
              calls_on(hello.after.backend) * measured);
    // A wait may also end by a timer of the loop.
    EXPECT_LE(hello.after.waits - hello.before.waits, measured + measured / 100);
}

TEST(system_calls, are_shared_by_the_requests_of_one_read) {
    constexpr unsigned depth = 16;
    measured_hello hello;
    {
        http::router routes;
        routes.get("/", [&hello](http::request&) { return hello.respond(); });
        http::server_options o;
        o.listen = "127.0.0.1:0";
        o.limits.requests = warm_up + measured + depth + 1;
        const testing::local_server server(routes, o);
        testing::blocking_peer peer(server.port());
        static_assert(warm_up % depth == 0 && measured % depth == 0);
        std::string batch;
        for (unsigned i = 0; i != depth; ++i) batch += one;
        for (unsigned i = 0; i != (warm_up + measured) / depth + 1; ++i) {
            ASSERT_TRUE(peer.send(batch));
            // Were the responses to come one by one, the first would be the end of what is
            // received.
            ASSERT_TRUE(peer.receive_until(end));
            ASSERT_EQ(hello.requests.load(), (i + 1) * depth);
        }
    }
    EXPECT_EQ(hello.after.system_calls - hello.before.system_calls,
              calls_on(hello.after.backend) * measured / depth);
}

}  // namespace
}  // namespace coracle
