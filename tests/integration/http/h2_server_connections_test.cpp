// The life of a connection of HTTP/2: counters, drains, idle ones, and their number of requests.

#include "integration/http/simulated_server.hpp"
#include "support/h2_peer.hpp"

#include <coracle/http/client.hpp>
#include <coracle/runtime/task_group.hpp>

namespace {

using namespace simulated;
using http::h2::error_code;

}  // namespace

TEST(h2_server_connections, counts_responses_that_were_sent) {
    world w(1);
    w.run([](world& in) -> task<> {
        http::h2_limits narrow;
        narrow.stream_window = 1000;
        h2_peer p(co_await in.connect(), narrow);
        p.consumes = false;
        auto& left = p.get("/big?n=700000");
        const auto begun = [&] { return left.content.size() == 1000; };
        co_await p.until(begun);
        co_await sleep_for(1s);
        EXPECT_EQ(in.counters().responses_2xx, 0u);
        EXPECT_EQ(in.counters().in_flight, 1u);
        p.cancel(left);
        co_await p.flush();
        while (in.counters().in_flight != 0) co_await sleep_for(1ms);
        EXPECT_EQ(in.counters().responses_2xx, 0u);
        EXPECT_EQ(in.counters().clients_gone, 1u);
        p.consumes = true;
        auto& whole = p.get("/big?n=700000");
        co_await p.until_over(whole);
        EXPECT_TRUE(whole.ended);
        EXPECT_EQ(in.counters().responses_2xx, 1u);
    });
}

TEST(h2_server_connections, drains_with_two_goaways_and_without_losing_a_request) {
    for_seeds(20, [](world& w) -> task<> {
        h2_peer p(co_await w.connect());
        auto& slow = p.get("/sleep?ms=3000");
        co_await p.flush();
        while (w.entered != 1) co_await sleep_for(1ms);
        w.server.stop();
        auto& crossing = p.get("/hello");
        co_await p.until_closed();
        EXPECT_EQ(slow.status, 200);
        EXPECT_EQ(crossing.status, 200);
        EXPECT_EQ(p.goaways().size(), 2u);
        if (p.goaways().size() != 2) co_return;
        EXPECT_EQ(p.goaways()[0].first, 0x7fffffffu);
        EXPECT_EQ(p.goaways()[1].first, 3u);
        EXPECT_EQ(p.goaways()[1].second, error_code::no_error);
        EXPECT_EQ(w.counters().cut_by_drain, 0u);
    });
}

TEST(h2_server_connections, cuts_what_a_drain_does_not_end) {
    http::server_options o;
    o.timeouts.drain = 2s;
    for (const std::uint64_t seed : seeds(5)) {
        world w(seed, o);
        w.run([](world& in) -> task<> {
            h2_peer p(co_await in.connect());
            p.get("/sleep");
            p.request("POST", "/echo", {}, false);
            co_await p.flush();
            while (in.entered != 2) co_await sleep_for(1ms);
            in.server.stop();
            co_await p.until_closed();
            while (in.counters().open != 0) co_await sleep_for(10ms);
            EXPECT_EQ(in.counters().cut_by_drain, 1u);
            EXPECT_EQ(in.destroyed, 1);
        });
    }
}

TEST(h2_server_connections, closes_a_connection_that_is_idle_however_much_it_pings) {
    for_seeds(3, [](world& w) -> task<> {
        h2_peer p(co_await w.connect());
        auto& m = p.get("/hello");
        co_await p.until_over(m);
        const time_point begun = w.sim.now();
        for (int i = 0; i != 5; ++i) {
            co_await sleep_for(10s);
            p.session().ping(7);
            co_await p.flush();
        }
        co_await p.until_closed();
        EXPECT_GE(w.since(begun), 59s);
        EXPECT_LT(w.since(begun), 62s);
        EXPECT_EQ(w.counters().idle_timeouts, 1u);
        EXPECT_EQ(p.goaways().size(), 1u);
    });
}

TEST(h2_server_connections, retires_a_connection_after_its_requests) {
    http::server_options o;
    o.limits.requests = 3;
    world w(1, o);
    w.run([](world& in) -> task<> {
        h2_peer p(co_await in.connect());
        for (int i = 0; i != 3; ++i) {
            auto& m = p.get("/hello");
            co_await p.until_over(m);
            EXPECT_EQ(m.status, 200);
        }
        co_await p.until_closed();
        EXPECT_EQ(p.goaways().size(), 2u);
        EXPECT_EQ(in.counters().retired, 1u);
    });
}

TEST(h2_server_connections, has_no_window_beyond_what_the_protocol_allows) {
    http::server_options o;
    auto& l = o.limits.h2;
    l.stream_window = l.max_stream_window = l.connection_window = ~0U;
    world w(1, o);
    w.run([](world& in) -> task<> {
        h2_peer p(co_await in.connect());
        for (int i = 0; i != 3; ++i) {
            auto& m = p.post("/echo", std::string(500'000, 'w'));
            co_await p.until_over(m);
            EXPECT_EQ(m.status, 200);
            EXPECT_EQ(m.content.size(), 500'000U);
        }
        EXPECT_TRUE(p.goaways().empty());
    });
}

TEST(h2_server_connections, has_a_window_and_room_for_the_first_settings_whatever_its_options_say) {
    http::server_options o;
    o.limits.h2.stream_window = 0;
    o.limits.h2.settings_frames = 0;
    world w(1, o);
    w.run([](world& in) -> task<> {
        h2_peer p(co_await in.connect());
        // Until its settings have come, the window is that of the protocol.
        auto& first = p.get("/hello");
        co_await p.until_over(first);
        auto& m = p.post("/echo", std::string(50, 'w'));
        co_await p.until_over(m);
        EXPECT_EQ(m.status, 200);
        EXPECT_EQ(m.content.size(), 50U);
        EXPECT_TRUE(p.goaways().empty());
    });
}

TEST(h2_server_connections, makes_room_for_others_when_it_is_idle) {
    http::server_options o;
    o.limits.connections = 2;
    world w(1, o);
    w.run([](world& in) -> task<> {
        h2_peer a(co_await in.connect());
        auto& first = a.get("/hello");
        co_await a.until_over(first);
        co_await sleep_for(1s);
        h2_peer b(co_await in.connect());
        auto& busy = b.get("/sleep?ms=5000");
        co_await b.flush();
        co_await sleep_for(1s);
        h2_peer c(co_await in.connect());
        auto& second = c.get("/hello");
        const auto closing = [&a] { return !a.goaways().empty(); };
        co_await a.until(closing);
        a.connection().close();
        co_await c.until_over(second);
        EXPECT_EQ(second.status, 200);
        EXPECT_EQ(in.counters().made_room, 1u);
        co_await b.until_over(busy);
        EXPECT_EQ(busy.status, 200);
    });
}

TEST(h2_server_connections, ends_a_connection_at_its_number_of_requests_and_fails_none) {
    http::server_options o;
    o.limits.requests = 50;
    for_seeds(
        5,
        [](world& w) -> task<> {
            http::client_options c;
            c.proxy_from_environment = false;
            c.http_version = http::version_choice::http_2;
            http::client client(c);
            const std::string url = "http://" + w.server.addresses().front().to_string();
            int good = 0;
            // Some calls are always under way when a connection is told to end.
            const auto work = [&]() -> task<> {
                for (int i = 0; i != 20; ++i) {
                    const auto r =
                        co_await client.post(url + "/echo").body("x" + std::to_string(i)).full();
                    if (r.body == "x" + std::to_string(i)) ++good;
                    EXPECT_LE(r.info.attempts, 2u);
                }
            };
            const auto block = [&](task_group& group) -> task<> {
                for (int i = 0; i != 30; ++i) group.spawn(work);
                co_return;
            };
            co_await with_task_group(block);
            EXPECT_EQ(good, 600);
            EXPECT_EQ(client.statistics().failed, 0u);
            EXPECT_EQ(client.statistics().retries, 0u);
            EXPECT_EQ(w.entered, 600) << "nothing was carried out twice";
            EXPECT_GE(w.counters().retired, 6u);
            EXPECT_GE(w.counters().h2_connections, 7u);
        },
        o);
}
