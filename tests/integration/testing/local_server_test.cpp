#include <coracle/http/client.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/peer.hpp>
#include <coracle/testing/script.hpp>
#include <coracle/testing/simulation.hpp>
#include <coracle/tls/stream.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view request = "GET /x HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n";

task<std::string> ask(net::address server) {
    testing::peer c = co_await connect_peer(server);
    co_await c.send(std::string(request));
    std::string all = co_await c.read_to_end();
    co_return all.substr(all.find("\r\n\r\n") + 4);
}

http::response path_of(http::request& req) {
    return http::response(std::string(req.path()));
}

task<http::response> never(http::request&) {
    co_await forever();
    co_return http::response("never");
}

TEST(local_server, serves_from_the_constructor_to_the_destructor) {
    net::address at;
    {
        local_server server(path_of);
        at = server.addresses().front();
        EXPECT_TRUE(at.is_loopback());
        EXPECT_EQ(server.url("/x"), "http://127.0.0.1:" + std::to_string(server.port()) + "/x");
        EXPECT_EQ(block_on([&] { return ask(at); }), "/x");
        EXPECT_EQ(server.counters().responses_2xx, 1U);
        EXPECT_EQ(server.authorities(), "");
    }
    EXPECT_THROW(block_on([&] { return ask(at); }), exception);
}

TEST(local_server, serves_https_in_a_simulation_too) {
    simulation world;
    local_server_options o;
    o.self_signed = true;
    local_server server(world.loop(), path_of, o);
    world.run([&]() -> task<> {
        tls::client_context trust(server.client_tls());
        auto plain = co_await net::connect(server.addresses().front());
        testing::peer c(co_await tls::connect(trust, std::move(plain), "localhost"));
        co_await c.send(std::string(request));
        EXPECT_TRUE((co_await c.read_to_end()).ends_with("\r\n\r\n/x"));
    });
}

TEST(local_server, takes_the_options_of_a_server) {
    local_server_options o;
    o.limits.h1.request_line = 3;
    const local_server server(path_of, o);
    block_on([&] { return ask(server.addresses().front()); });
    EXPECT_EQ(server.counters().target_too_long, 1U);
}

TEST(local_server, serves_https_that_only_its_own_clients_trust) {
    local_server_options o;
    o.self_signed = true;
    const local_server server(path_of, o);
    EXPECT_TRUE(server.url().starts_with("https://127.0.0.1:"));
    EXPECT_TRUE(server.authorities().starts_with("-----BEGIN CERTIFICATE-----"));
    tls::client_context trust(server.client_tls());
    tls::client_context others;
    block_on([&]() -> task<> {
        for (const char* const name : {"localhost", "127.0.0.1"}) {
            auto plain = co_await net::connect(server.addresses().front());
            testing::peer c(co_await tls::connect(trust, std::move(plain), name));
            co_await c.send(std::string(request));
            EXPECT_TRUE((co_await c.read_to_end()).ends_with("\r\n\r\n/x"));
        }
        auto plain = co_await net::connect(server.addresses().front());
        auto refused = tls::connect(others, std::move(plain), "localhost");
        EXPECT_FALSE((co_await as_result(refused)).has_value());
    });
}

TEST(local_server, speaks_http_2_with_a_client_that_trusts_it) {
    local_server_options o;
    o.self_signed = true;
    const local_server server(path_of, o);
    http::client_options trusting;
    trusting.tls_context = std::make_shared<tls::client_context>(server.client_tls());
    http::client client(trusting);
    const auto r = client.get(server.url("/x")).wait();
    EXPECT_EQ(r.body, "/x");
    EXPECT_EQ(r.info.version, http::version::http_2);
}

TEST(local_server, waits_for_no_response_when_it_stops) {
    local_server server(never);
    block_on([&]() -> task<> {
        testing::peer c = co_await connect_peer(server.addresses().front());
        co_await c.send(std::string(request));
        while (server.counters().in_flight == 0) co_await yield();
        server.stop();
        EXPECT_EQ(co_await c.read_to_end(), "");
    });
    EXPECT_EQ(server.counters().cut_by_drain, 1U);
    server.stop();
}

TEST(local_server, lets_responses_end_when_it_is_told_to) {
    local_server_options o;
    o.timeouts.drain = 30s;
    const gate may_respond;
    auto wait_and_respond = [&](http::request&) -> task<http::response> {
        co_await may_respond.passed();
        co_return http::response("served");
    };
    local_server server(wait_and_respond, o);
    std::string got;
    std::thread client([&] { got = block_on([&] { return ask(server.addresses().front()); }); });
    block_on([&]() -> task<> {
        while (server.counters().in_flight == 0) co_await yield();
    });
    std::thread stopper([&] { server.stop(); });
    // Nobody is let in any more once it drains.
    block_on([&]() -> task<> {
        for (bool open = true; open;) {
            auto connecting = net::connect(server.addresses().front());
            open = (co_await as_result(connecting)).has_value();
        }
    });
    may_respond.open();
    stopper.join();
    client.join();
    EXPECT_EQ(got, "served");
    EXPECT_EQ(server.counters().cut_by_drain, 0U);
}

TEST(local_server, may_be_gone_before_it_has_run) {
    for (int i = 0; i != 50; ++i) const local_server server(path_of);
}

TEST(local_server, says_when_the_address_cannot_be_had) {
    const local_server first(path_of);
    local_server_options o;
    o.listen = first.addresses().front().to_string();
    EXPECT_THROW(const local_server second(path_of, o), exception);
}

TEST(local_server, serves_in_a_simulation) {
    for (const std::uint64_t seed : seeds(5)) {
        simulation world(seed);
        SCOPED_TRACE(world.replay());
        auto main = [&]() -> task<> {
            local_server server(world.loop(), path_of);
            EXPECT_EQ(co_await ask(server.addresses().front()), "/x");
            server.stop();
            co_await server.stopped();
            EXPECT_EQ(server.counters().open, 0U);
            // This one is cut with a request under way.
            const local_server slow(world.loop(), never);
            auto asking = [&]() -> task<> { co_await ask(slow.addresses().front()); };
            EXPECT_FALSE((co_await as_result(with_timeout(1h, asking))).has_value());
        };
        world.run(main);
        EXPECT_EQ(world.backend().open_descriptors(), 0U);
    }
}

}  // namespace
}  // namespace coracle::testing
