// The end of a server: what is idle, under way and left, in virtual time.

#include "integration/http/simulated_server.hpp"
#include "support/test_ca.hpp"

#include <coracle/http/drain_signal.hpp>
#include <coracle/http/events.hpp>
#include <coracle/net/listener.hpp>
#include <coracle/runtime/with_timeout.hpp>

using namespace simulated;

/// How long a fresh connection, a used one, and one behind an empty line stay open in a drain.
static task<> expect_idle_to_end(world& w, duration least, duration most) {
    peer fresh = co_await w.connect();
    peer used = co_await w.connect();
    co_await used.send(get("/hello"));
    EXPECT_TRUE((co_await read_response(used)).ends_with("hello"));
    peer after_a_line = co_await w.connect();
    co_await after_a_line.send(get("/hello") + "\r\n");
    EXPECT_TRUE((co_await read_response(after_a_line)).ends_with("hello"));
    co_await sleep_for(1s);
    const time_point began = w.sim.now();
    w.server.stop();
    co_await fresh.expect_close();
    EXPECT_GE(w.since(began), least);
    co_await used.expect_close();
    co_await after_a_line.expect_close();
    EXPECT_LT(w.since(began), most);
    EXPECT_EQ(w.counters().cut_by_drain, 0u);
    EXPECT_EQ(w.counters().idle_timeouts, 0u);
    co_await sleep_for(100ms);  // more than `last_accept`
    EXPECT_FALSE(co_await as_result(w.connect()));
    const auto report = w.server.drained();
    EXPECT_EQ(report->open, 3u);
    EXPECT_EQ(report->served, 0u);
}

TEST(server_drain, closes_idle_connections_soon_when_it_drains) {
    for_seeds(few, [](world& w) { return expect_idle_to_end(w, 400ms, 700ms); });
}

TEST(server_drain, closes_idle_connections_at_once_where_they_have_no_time) {
    http::server_options o;
    o.timeouts.drain_idle = 0s;
    for_seeds(few, [](world& w) { return expect_idle_to_end(w, 0s, 100ms); }, o);
}

TEST(server_drain, serves_the_request_that_crosses_the_begin_of_a_drain) {
    for_seeds(few, [](world& w) -> task<> {
        peer fresh = co_await w.connect();
        peer used = co_await w.connect();
        co_await used.send(get("/hello"));
        EXPECT_TRUE((co_await read_response(used)).ends_with("hello"));
        EXPECT_FALSE(w.server.drained());
        w.server.stop();
        co_await sleep_for(300ms);
        for (peer* p : {&fresh, &used}) {
            co_await p->send(get("/hello"));
            const std::string response = co_await p->read_to_end();
            EXPECT_TRUE(response.ends_with("hello")) << response;
            EXPECT_NE(response.find("Connection: close\r\n"), std::string::npos);
        }
        EXPECT_EQ(w.server.drained()->served, 2u);
    });
}

TEST(server_drain, lets_handlers_see_that_it_drains) {
    http::router routes;
    routes.get("/waits", [](http::request& req) -> task<http::response> {
        EXPECT_FALSE(http::is_draining(req));
        http::drain_notice notice(http::drain_of(req));
        co_await notice.wait();
        co_return http::response(http::is_draining(req) ? "drains" : "serves");
    });
    for (const std::uint64_t seed : seeds(few)) {
        world w(seed, http::handler(routes));
        w.run([](world& in) -> task<> {
            peer p = co_await in.connect();
            co_await p.send(get("/waits"));
            co_await sleep_for(1s);
            const time_point began = in.sim.now();
            in.server.stop();
            EXPECT_TRUE((co_await p.read_to_end()).ends_with("drains"));
            EXPECT_LT(in.since(began), 100ms);
            EXPECT_EQ(in.server.drained()->told, 1u);
            EXPECT_EQ(in.server.drained()->in_flight, 1u);
        });
    }
}

TEST(server_drain, ends_streams_of_events_unless_they_are_to_go_on) {
    const auto counting = [](http::event_sink& out) -> task<> {
        for (int i = 0; i != 5; ++i) {
            co_await out.send(std::to_string(i));
            co_await sleep_for(1s);
        }
    };
    for (const bool ends : {true, false}) {
        http::router routes;
        routes.get("/events", [&](http::request& req) {
            return http::events(req, counting, {.ends_with_server = ends});
        });
        world w(1, http::handler(routes));
        w.run([&](world& in) -> task<> {
            peer p = co_await in.connect();
            co_await p.send(get("/events", "Connection: close\r\n"));
            co_await sleep_for(1500ms);
            in.server.stop();
            const std::string all = co_await p.read_to_end();
            EXPECT_NE(all.find("data: 1\n"), std::string::npos) << all;
            EXPECT_EQ(all.find("data: 4\n") == std::string::npos, ends) << all;
            EXPECT_EQ(all.find(": the server is going away\n") == std::string::npos, !ends) << all;
            EXPECT_TRUE(all.ends_with("0\r\n\r\n")) << all;
        });
    }
}

TEST(server_drain, finishes_what_is_in_flight_when_it_drains) {
    for_seeds(few, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send(get("/sleep?ms=5000"));
        co_await sleep_for(1s);
        w.server.stop();
        const std::string response = co_await p.read_to_end();
        EXPECT_TRUE(response.starts_with("HTTP/1.1 200 ")) << response;
        EXPECT_NE(response.find("Connection: close\r\n"), std::string::npos);
        EXPECT_EQ(p.ended(), ending::finished);
        EXPECT_EQ(w.counters().cut_by_drain, 0u);
    });
}

TEST(server_drain, may_be_destroyed_right_after_it_was_told_to_drain) {
    for (const bool has_run : {true, false}) {
        simulation sim(1);
        const auto main = [&]() -> task<> {
            {
                const auto hello = [](http::request&) { return http::response("hello"); };
                http::server s(hello, world::with_address({}));
                s.open(sim.loop());
                const auto run = [&] { return s.run(sim.loop()); };
                if (has_run) co_await as_result(with_timeout(1s, run));
                s.stop();
            }
            co_await sleep_for(1s);
            EXPECT_EQ(sim.detached(), 0U);
        };
        sim.run(main);
        EXPECT_EQ(sim.backend().open_descriptors(), 0U) << has_run;
    }
}

TEST(server_drain, is_remembered_by_a_server_that_opens_later) {
    simulation sim(1);
    const auto main = [&]() -> task<> {
        http::server s([](http::request&) { return http::response("hello"); },
                       world::with_address({}));
        s.stop();
        s.open(sim.loop());
        const time_point began = sim.now();
        const auto run = [&] { return s.run(sim.loop()); };
        static_cast<void>(co_await as_result(with_timeout(1min, run)));
        EXPECT_LT(sim.now() - began, 10s);
    };
    sim.run(main);
    EXPECT_EQ(sim.backend().open_descriptors(), 0U);
}

TEST(server_open, fails_where_there_is_no_address) {
    simulation sim(1);
    for (const char* const listen : {"", " ", ","}) {
        http::server_options o;
        o.listen = listen;
        http::server s([](http::request&) { return http::response("hello"); }, o);
        EXPECT_THROW(s.open(sim.loop()), exception) << listen;
    }
}

TEST(server_open, may_be_tried_again_where_it_failed) {
    simulation sim(1);
    const auto main = [&]() -> task<> {
        http::server_options o;
        o.listen = "127.0.0.1:80, 127.0.0.1:81";
        http::server s([](http::request&) { return http::response("hello"); }, o);
        const auto taken = *net::address::parse("127.0.0.1:81");
        auto other = net::listener::open(sim.loop(), taken);
        EXPECT_TRUE(other);
        EXPECT_THROW(s.open(sim.loop()), exception);
        EXPECT_TRUE(s.addresses().empty());
        EXPECT_TRUE(s.urls().empty());
        other->close();
        s.open(sim.loop());
        EXPECT_EQ(s.addresses().size(), 2u);
        const auto run = [&] { return s.run(sim.loop()); };
        const auto ask = [&]() -> task<> {
            for (const net::address& at : s.addresses()) {
                peer p = co_await connect_peer(at);
                co_await p.send(get("/"));
                EXPECT_TRUE((co_await read_response(p)).ends_with("hello"));
            }
            s.stop();
        };
        co_await when_all(run(), ask());
    };
    sim.run(main);
}

TEST(server_drain, responds_to_a_head_that_is_under_way_when_it_drains) {
    for_seeds(few, [](world& w) -> task<> {
        peer p = co_await w.connect();
        co_await p.send("GET /hello HT");
        co_await sleep_for(1s);
        w.server.stop();
        co_await sleep_for(300ms);
        co_await p.send("TP/1.1\r\nHost: x\r\n\r\n");
        const std::string response = co_await p.read_to_end();
        EXPECT_TRUE(response.ends_with("hello")) << response;
        EXPECT_NE(response.find("Connection: close\r\n"), std::string::npos);
    });
}

TEST(server_drain, waits_no_longer_for_the_rest_of_a_PROXY_header) {
    http::server_options o;
    o.proxy_protocol_from = "0.0.0.0/0";
    const auto f = [](world& w) -> task<> {
        const std::string header = "PROXY TCP4 192.0.2.1 192.0.2.100 4711 80\r\n";
        peer silent = co_await w.connect();
        peer slow = co_await w.connect();
        co_await slow.send(header.substr(0, 12));
        peer in_time = co_await w.connect();
        co_await in_time.send(header.substr(0, 12));
        co_await sleep_for(1s);
        const time_point began = w.sim.now();
        w.server.stop();
        co_await sleep_for(300ms);
        co_await in_time.send(header.substr(12) + get("/hello"));
        EXPECT_TRUE((co_await in_time.read_to_end()).ends_with("hello"));
        co_await silent.expect_close();
        EXPECT_GE(w.since(began), 500ms);
        EXPECT_EQ(co_await slow.read_to_end(), "");
        EXPECT_LT(w.since(began), 800ms);
        EXPECT_EQ(w.counters().proxy_failures, 0u);
    };
    for_seeds(few, f, o);
}

TEST(server_drain, waits_no_longer_for_the_rest_of_a_TLS_handshake) {
    test_ca ca;
    tls::server_options certificates;
    certificates.certificates = {ca.issue({.names = {"127.0.0.1"}})};
    http::server_options o;
    o.tls = std::make_shared<tls::server_context>(certificates);
    const auto f = [](world& w) -> task<> {
        peer silent = co_await w.connect();
        peer slow = co_await w.connect();
        co_await slow.send("\x16\x03\x01");
        co_await sleep_for(1s);
        EXPECT_EQ(w.counters().handshaking, 2u);
        const time_point began = w.sim.now();
        w.server.stop();
        co_await silent.expect_close();
        EXPECT_GE(w.since(began), 400ms);
        co_await slow.expect_close();
        EXPECT_LT(w.since(began), 800ms);
        EXPECT_EQ(w.counters().tls_timeouts, 0u);
    };
    for_seeds(few, f, o);
}

TEST(server_drain, waits_no_longer_for_the_rest_of_a_head_when_it_drains) {
    for_seeds(few, [](world& w) -> task<> {
        peer before = co_await w.connect();
        co_await before.send("GET");
        peer after = co_await w.connect();
        co_await sleep_for(1s);
        const time_point began = w.sim.now();
        w.server.stop();
        co_await sleep_for(200ms);
        co_await after.send("GET /");
        EXPECT_EQ(co_await before.read_to_end(), "");
        EXPECT_GE(w.since(began), 400ms);
        EXPECT_LT(w.since(began), 700ms);
        EXPECT_EQ(co_await after.read_to_end(), "");
        EXPECT_LT(w.since(began), 1s);
        EXPECT_EQ(w.counters().cut_by_drain, 2u);
        EXPECT_EQ(w.counters().head_timeouts, 0u);
    });
}

TEST(server_drain, closes_heads_at_once_where_they_have_no_time_in_a_drain) {
    http::server_options o;
    o.timeouts.drain_idle = 0s;
    for_seeds(
        few,
        [](world& w) -> task<> {
            peer p = co_await w.connect();
            co_await p.send("GET");
            co_await sleep_for(1s);
            const time_point began = w.sim.now();
            w.server.stop();
            EXPECT_EQ(co_await p.read_to_end(), "");
            EXPECT_LT(w.since(began), 100ms);
        },
        o);
}

TEST(server_drain, cuts_what_is_left_at_the_end_of_the_drain) {
    for_seeds(few, [](world& w) -> task<> {
        peer sleeping = co_await w.connect();
        co_await sleeping.send(get("/sleep"));
        peer reading_nothing = co_await w.connect();
        co_await reading_nothing.send(get("/big?n=1000000"));
        co_await sleep_for(1s);
        const time_point began = w.sim.now();
        w.server.stop();
        EXPECT_EQ(co_await sleeping.read_to_end(), "");
        EXPECT_EQ(sleeping.ended(), ending::reset);
        expect_about(w.since(began), 29s, 2s);
        EXPECT_EQ(w.destroyed, 1);
        co_await sleep_for(1s);
        EXPECT_EQ(w.counters().open, 0u);
        EXPECT_EQ(w.counters().cut_by_drain + w.counters().write_timeouts, 2u);
        const auto report = w.server.drained();
        EXPECT_EQ(report->in_flight, 2u);
        EXPECT_EQ(report->cut, w.counters().cut_by_drain);
        EXPECT_GE(report->cut, 1u);
        expect_about(report->took, 29s, 2s);
    });
}

TEST(server_drain, counts_the_connections_that_waited_when_it_began) {
    // The preface of HTTP/2, and empty SETTINGS.
    const std::string preface =
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string("\0\0\0\4\0\0\0\0\0", 9);
    for_seeds(few, [&preface](world& w) -> task<> {
        peer early = co_await w.connect();
        co_await sleep_for(1s);
        w.server.stop();
        peer late = co_await w.connect();
        peer goes_on_in_h2 = co_await w.connect();
        co_await goes_on_in_h2.send(preface);
        co_await late.send(get("/hello"));
        EXPECT_TRUE((co_await late.read_to_end()).ends_with("hello"));
        co_await early.read_to_end();
        for (peer* p : {&early, &late, &goes_on_in_h2}) p->close();
        co_await sleep_for(1s);
        EXPECT_EQ(w.counters().h2_connections, 1u);
        EXPECT_EQ(w.counters().draining, 0u);
        const auto report = w.server.drained();
        EXPECT_EQ(report->open, 1u);
        EXPECT_EQ(report->accepted, 2u);
        EXPECT_EQ(report->served, 1u);
        EXPECT_EQ(report->cut, 0u);
        EXPECT_GT(report->took, 0s);
        EXPECT_LT(report->took, 2s);
    });
}
