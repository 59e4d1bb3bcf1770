// The gauges of open connections: by state, by version, and WebSockets.

#include "integration/websocket/simulated_websocket.hpp"
#include "support/h2_peer.hpp"

#include <coracle/http/metrics.hpp>

#include <map>
#include <optional>
#include <string>

namespace {

using namespace simulated_websocket;
using coracle::testing::h2_peer;

/// The numbers of "NAME{LABEL="VALUE"}" by VALUE.
std::map<std::string, int> by_label(const std::string& text, const std::string& name) {
    std::map<std::string, int> all;
    const std::string start = "\n" + name + "{";
    for (std::size_t at = text.find(start); at != text.npos; at = text.find(start, at + 1)) {
        const std::size_t value = text.find('"', at) + 1;
        const std::size_t end = text.find('"', value);
        all[text.substr(value, end - value)] = std::stoi(text.substr(end + 3));
    }
    return all;
}

using numbers = std::map<std::string, int>;

struct gauges {
    explicit gauges(world& w) {
        http::add_server_counters(all, [&w] { return w.counters(); });
    }
    numbers states() const { return by_label(all.text(), "coracle_server_connections_by_state"); }
    numbers versions() const {
        return by_label(all.text(), "coracle_server_connections_by_version");
    }
    int websockets() const {
        const std::string text = all.text();
        const std::string name = "\ncoracle_server_open_websockets ";
        return std::stoi(text.substr(text.find(name) + name.size()));
    }
    metrics::registry all;
};

numbers states(int handshaking, int active, int idle, int draining) {
    return {
        {"handshaking", handshaking}, {"active", active}, {"idle", idle}, {"draining", draining}};
}

/// Waits until the server has seen what its peers did.
task<> settle() {
    co_await sleep_for(1s);
}

http::handler with_websocket() {
    http::router routes;
    websocket::route(routes, "/ws", {}, echo_handler);
    routes.get("/sleep", [](http::request&) -> task<http::response> {
        co_await sleep_for(1h);
        co_return "";
    });
    return routes;
}

}  // namespace

TEST(connection_gauges, know_which_connections_have_a_request) {
    world w(1);
    w.run([](world& in) -> task<> {
        const gauges g(in);
        EXPECT_EQ(g.states(), states(0, 0, 0, 0));
        peer idle = co_await in.connect();
        peer busy = co_await in.connect();
        co_await busy.send(get("/sleep?ms=10000"));
        h2_peer over_h2(co_await in.connect());
        auto& first = over_h2.get("/sleep?ms=10000");
        auto& second = over_h2.get("/sleep?ms=20000");
        co_await over_h2.flush();
        co_await settle();
        EXPECT_EQ(g.states(), states(0, 2, 1, 0));
        EXPECT_EQ(g.versions(), (numbers{{"1.1", 2}, {"2", 1}}));
        co_await over_h2.until_over(first);
        auto reading = read_response(busy);
        co_await std::move(reading);
        co_await settle();
        EXPECT_EQ(g.states(), states(0, 1, 2, 0));
        co_await over_h2.until_over(second);
        co_await settle();
        EXPECT_EQ(g.states(), states(0, 0, 3, 0));
        idle.close();
        co_await settle();
        EXPECT_EQ(g.states(), states(0, 0, 2, 0));
        EXPECT_EQ(g.versions(), (numbers{{"1.1", 1}, {"2", 1}}));
    });
}

TEST(connection_gauges, count_those_that_have_not_said_whom_they_speak_for) {
    http::server_options o;
    o.proxy_protocol_from = "127.0.0.0/8";
    world w(1, o);
    w.run([](world& in) -> task<> {
        const gauges g(in);
        peer p = co_await in.connect();
        co_await settle();
        EXPECT_EQ(g.states(), states(1, 0, 0, 0));
        co_await p.send("PROXY TCP4 192.0.2.1 192.0.2.2 5 80\r\n");
        co_await settle();
        EXPECT_EQ(g.states(), states(0, 0, 1, 0));
        const peer never = co_await in.connect();
        co_await settle();
        EXPECT_EQ(g.states(), states(1, 0, 1, 0));
        co_await sleep_for(11s);  // timeouts.head
        EXPECT_EQ(g.states(), states(0, 0, 1, 0));
    });
}

TEST(connection_gauges, count_websockets_of_both_versions) {
    http::server_options o;
    o.timeouts.drain = 2s;
    world w(1, with_websocket(), o);
    w.run([](world& in) -> task<> {
        const gauges g(in);
        std::optional<raw_peer> one(co_await in.connect());
        co_await one->shake_hands("/ws");
        h2_peer two(co_await in.connect());
        for (int i = 0; i != 2; ++i) {
            auto& m = two.connect("websocket", "/ws", {{"sec-websocket-version", "13"}});
            const auto there = [&m] { return m.status != 0; };
            co_await two.until(there);
            EXPECT_EQ(m.status, 200);
        }
        EXPECT_EQ(g.websockets(), 3);
        EXPECT_EQ(g.versions(), (numbers{{"1.1", 1}, {"2", 1}}));
        EXPECT_EQ(g.states(), states(0, 2, 0, 0));
        co_await one->send(close_frame(close_code::normal, ""));
        co_await one->read_close();
        one.reset();
        co_await settle();
        EXPECT_EQ(g.websockets(), 2);
    });
    EXPECT_EQ(w.counters().websockets, 0u);
}

TEST(connection_gauges, call_all_connections_draining_in_a_drain) {
    http::server_options o;
    o.timeouts.drain = 30s;
    world w(1, with_websocket(), o);
    w.run([](world& in) -> task<> {
        const gauges g(in);
        peer idle = co_await in.connect();
        peer busy = co_await in.connect();
        co_await busy.send(get("/sleep"));
        co_await settle();
        EXPECT_EQ(g.states(), states(0, 1, 1, 0));
        in.server.stop();
        co_await sleep_for(100ms);
        EXPECT_EQ(g.states(), states(0, 0, 0, 2));
        co_await sleep_for(10s);  // the idle one is closed
        EXPECT_EQ(g.states(), states(0, 0, 0, 1));
    });
    EXPECT_EQ(w.counters().draining, 0u);
}
