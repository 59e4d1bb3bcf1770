// The connections of a client: used again, limited, shared, and given up.

#include "support/client_calls.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>
#include <coracle/testing/simulation.hpp>
#include <coracle/tls/error.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <mutex>
#include <thread>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(client_connections, are_used_again_and_counted) {
    const local_server server(path_of);
    http::client client;
    for (int i = 0; i != 10; ++i) {
        EXPECT_EQ(client.get(server.url("/x")).wait().info.reused, i != 0);
    }
    const auto s = client.statistics();
    EXPECT_EQ(s.calls, 10U);
    EXPECT_EQ(s.opened, 1U);
    EXPECT_EQ(s.reused, 9U);
    EXPECT_EQ(s.connections, 1U);
    EXPECT_EQ(s.idle, 1U);
    EXPECT_EQ(server.counters().connections, 1U);
}

// The transports of 64 sets of options are kept.
TEST(client_connections, are_kept_for_the_defaults_and_for_options_that_were_used_last) {
    const local_server server(tell_request);
    http::client client;
    const auto call_with = [&](std::uint32_t head_limit) {
        http::client_options o;
        o.head_limit = head_limit;
        client.get(server.url()).options(o).wait();
    };
    client.get(server.url()).wait();
    for (std::uint32_t i = 0; i != 70; ++i) {
        call_with(40'000 + i);
        call_with(30'000);
    }
    EXPECT_EQ(client.statistics().opened, 1U + 70U + 1U);
    // These make the same connections as the defaults.
    client.get(server.url()).options("user_agent=boat").wait();
    call_with(http::client_options().head_limit);
    EXPECT_EQ(client.statistics().opened, 72U);
    call_with(40'000);
    EXPECT_EQ(client.statistics().opened, 73U) << "its place went to others";
}

TEST(client_connections, are_closed_behind_a_request_that_asks_for_it) {
    std::vector<script> scripts;
    scripts.push_back(script().read_head().respond("in").read_to_end());
    scripts.push_back(script().read_head().respond("in").read_head().respond("in").read_to_end());
    const scripted_peer peer(std::move(scripts));
    http::client client;
    EXPECT_EQ(client.get(peer.url()).header("Connection", "Close").wait().body, "in");
    EXPECT_THAT(peer.record().received, HasSubstr("\r\nConnection: close\r\n"));
    EXPECT_EQ(client.statistics().connections, 0U);
    EXPECT_EQ(client.get(peer.url()).header("TE", "trailers").wait().body, "in");
    EXPECT_EQ(client.statistics().connections, 1U);
    EXPECT_THAT(peer.record(1).received, HasSubstr("\r\nConnection: TE\r\n"));
    const auto both = client.get(peer.url())
                          .header("TE", "trailers")
                          .header("Connection", "keep-alive, close")
                          .wait();
    EXPECT_EQ(both.body, "in");
    EXPECT_EQ(client.statistics().connections, 0U);
}

TEST(client_connections, keep_to_their_number_and_serve_in_order) {
    std::mutex guard;
    std::vector<std::string> order;
    const local_server server([&](http::request& req) {
        const std::lock_guard lock(guard);
        order.emplace_back(req.path());
        return path_of(req);
    });
    http::pool_options p;
    p.connections_per_host = 1;
    http::client client({}, p);
    std::vector<background_call> calls;
    std::vector<std::string> expected;
    std::atomic<int> good = 0;
    for (int i = 0; i != 20; ++i) {
        const std::string path = "/" + std::to_string(i);
        expected.push_back(path);
        calls.push_back(client.get(server.url(path)).start([&, path](auto r) {
            if (r && r->body == path) ++good;
        }));
    }
    for (const auto& c : calls) c.wait();
    EXPECT_EQ(good, 20);
    {
        const std::lock_guard lock(guard);
        EXPECT_EQ(order, expected);
    }
    EXPECT_EQ(client.statistics().opened, 1U);
    EXPECT_EQ(client.statistics().waiting, 0U);
}

TEST(client_connections, that_have_waited_longest_are_closed_first) {
    std::vector<std::unique_ptr<local_server>> servers;
    for (int i = 0; i != 6; ++i) servers.push_back(std::make_unique<local_server>(path_of));
    http::pool_options p;
    p.connections = 4;
    http::client client({}, p);
    const auto reuses = [&](std::size_t i) {
        return client.get(servers[i]->url()).wait().info.reused;
    };
    for (std::size_t i = 0; i != 4; ++i) EXPECT_FALSE(reuses(i));
    EXPECT_TRUE(reuses(0));
    EXPECT_FALSE(reuses(4));  // in place of 1
    EXPECT_FALSE(reuses(5));  // in place of 2
    for (const std::size_t i : {3U, 0U, 4U, 5U}) EXPECT_TRUE(reuses(i)) << i;
    EXPECT_FALSE(reuses(1));
    EXPECT_EQ(client.statistics().idle, 4U);
}

TEST(client_connections, that_are_idle_make_room_for_other_origins) {
    const local_server one(path_of);
    const local_server two(path_of);
    http::pool_options p;
    p.connections = 1;
    http::client client({}, p);
    for (int i = 0; i != 3; ++i) {
        EXPECT_EQ(client.get(one.url("/1")).wait().body, "/1");
        EXPECT_EQ(client.get(two.url("/2")).wait().body, "/2");
        EXPECT_EQ(client.statistics().connections, 1U);
    }
}

TEST(client_connections, that_the_server_closes_are_dropped) {
    const scripted_peer peer(script().read_head().respond("x"));
    http::client client;
    for (int i = 0; i != 3; ++i) EXPECT_EQ(client.get(peer.url()).wait().body, "x");
    while (client.statistics().connections != 0) std::this_thread::yield();
    const scripted_peer refusing(script().read_head().respond("x", "Connection: close\r\n"));
    EXPECT_EQ(client.get(refusing.url()).wait().body, "x");
    EXPECT_EQ(client.statistics().connections, 0U);
}

TEST(client_connections, to_a_proxy_that_forwards_are_shared_by_all_origins) {
    const scripted_peer proxy(script().read_head().respond("x").again());
    http::client_options o;
    o.proxy = proxy.url();
    o.no_proxy = "127.0.0.1";
    http::client client(o);
    for (const char* to : {"http://a.test/", "http://b.test/", "http://a.test:81/"}) {
        EXPECT_EQ(client.get(to).wait().body, "x");
    }
    EXPECT_EQ(client.statistics().opened, 1U);
    EXPECT_EQ(client.statistics().idle, 1U);
    EXPECT_THAT(proxy.record().received,
                ::testing::AllOf(HasSubstr("GET http://a.test/ "), HasSubstr("GET http://b.test/ "),
                                 HasSubstr("Host: a.test:81\r\n")));
    // Calls that bypass it have connections of their own.
    const local_server server(path_of);
    EXPECT_EQ(client.get(server.url("/y")).wait().body, "/y");
    EXPECT_EQ(client.statistics().opened, 2U);
}

/// Over TLS the stale ones end without close_notify.
void expect_stale_ones_replaced(bool secure) {
    const auto stale = [] { return script().read_head().respond("first").read_head().cut(); };
    const auto fresh = [] { return script().read_head().respond("second").read_to_end(); };
    http::client_options o;
    o.insecure = true;
    http::client client(o);
    const scripted_peer_options how{.self_signed = secure};
    const scripted_peer peer({stale(), fresh()}, how);
    EXPECT_EQ(client.get(peer.url()).wait().body, "first");
    const auto r = client.get(peer.url()).wait();
    EXPECT_EQ(r.body, "second");
    EXPECT_EQ(r.info.attempts, 2U);
    const scripted_peer other({stale(), fresh()}, how);
    EXPECT_EQ(client.get(other.url()).wait().body, "first");
    const error e = failure_of(client.post(other.url()).body("x"));
    const auto end =
        secure ? make_error_code(tls::errc::truncated) : make_error_code(errc::end_of_stream);
    EXPECT_TRUE(e == end || e == std::errc::connection_reset) << e;
    EXPECT_FALSE(e.safe_to_retry());
    EXPECT_EQ(other.connections(), 1U);
    // A fresh connection that ends like that is no stale one.
    const scripted_peer never(script().read_head().cut(), how);
    EXPECT_TRUE(failure_of(client.get(never.url())).code());
    EXPECT_EQ(never.connections(), 1U);
}

TEST(client_connections, through_a_tunnel_tell_when_the_proxy_had_connected) {
    simulation sim(1);
    const script behind = script().read_head().pause(3s).send("HTTP/1.1 200 OK\r\n\r\n");
    script through_it = behind;
    through_it.start_tls().read_head().respond("one");
    scripted_peer proxy(sim.loop(), through_it, {.self_signed = true});
    scripted_peer direct(sim.loop(), script().read_head().respond("two"), {.self_signed = true});
    sim.run([&]() -> task<> {
        http::client_options o;
        o.proxy_from_environment = false;
        o.insecure = true;
        o.http_version = http::version_choice::http_1_1;
        http::client plain(o);
        const http::full_response two = co_await plain.get(direct.url()).full();
        EXPECT_EQ(two.info.times.tunnelled, 0s);
        EXPECT_GT(two.info.times.connected, 0s);
        o.proxy = "http://" + proxy.address().to_string();
        http::client client(o);
        const http::full_response one = co_await client.get("https://origin.test/").full();
        const http::call_timings& t = one.info.times;
        EXPECT_GT(t.connected, 0s);
        EXPECT_GE(t.tunnelled, t.connected + 3s);
        EXPECT_GE(t.secured, t.tunnelled);
        EXPECT_GE(t.first_byte, t.secured);
        proxy.stop();
        direct.stop();
    });
}

TEST(client_connections, that_were_stale_are_replaced_once_but_never_for_post) {
    for (const bool secure : {false, true}) {
        SCOPED_TRACE(secure);
        expect_stale_ones_replaced(secure);
    }
}

void expect_not_misled(const scripted_peer_options& o) {
    const gate later;
    const std::string forged = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged";
    const scripted_peer peer({script().read_head().respond("one").stall(later).send(forged).stall(),
                              script().read_head().respond("two")},
                             o);
    http::client_options trusting;
    const temporary_directory folder;
    if (o.self_signed) {
        trusting.certificates.authorities = folder.write("ca.pem", peer.authorities());
    }
    http::client client(trusting);
    EXPECT_EQ(client.get(peer.url()).wait().body, "one");
    EXPECT_TRUE(peer.wait_for_stall());
    const std::uint64_t before = peer.record().bytes_sent;
    later.open();
    EXPECT_TRUE(peer.wait_until([&](const auto& r) { return r[0].bytes_sent > before; }));
    EXPECT_EQ(client.get(peer.url()).wait().body, "two");
    EXPECT_EQ(client.statistics().reused, 0U);
    EXPECT_EQ(client.statistics().opened, 2U);
}

TEST(client_connections, on_which_bytes_came_that_nobody_asked_for_are_not_used_again) {
    expect_not_misled({});
    scripted_peer_options secured;
    secured.self_signed = true;
    expect_not_misled(secured);
}

/// The server does something to a connection behind the response of one call, while another waits
/// for it.
void expect_not_handed_over(script first, const gate& go, const gate& later) {
    const scripted_peer peer({std::move(first), script().read_head().respond("two")});
    http::pool_options p;
    p.connections_per_host = 1;
    http::client client({}, p);
    // The loop of the client stands until the server has done it.
    const auto meddle = [&](const http::progress& so_far) {
        if (so_far.received == 0) return true;
        EXPECT_TRUE(peer.wait_for_stall());
        const auto before = peer.record().steps;
        later.open();
        return peer.wait_until([&](const auto& r) { return r[0].steps > before + 1; });
    };
    std::expected<http::full_response, error> one;
    std::expected<http::full_response, error> two;
    const auto a =
        client.get(peer.url()).on_progress(meddle).start([&](auto r) { one = std::move(r); });
    EXPECT_TRUE(peer.wait_for_stall());
    const auto b = client.post(peer.url()).body("x").start([&](auto r) { two = std::move(r); });
    while (client.statistics().waiting != 1) std::this_thread::yield();
    go.open();
    a.wait();
    b.wait();
    ASSERT_TRUE(one) << one.error();
    ASSERT_TRUE(two) << two.error();
    EXPECT_EQ(one->body, "one");
    EXPECT_EQ(two->body, "two");
    EXPECT_FALSE(two->info.reused);
    EXPECT_EQ(client.statistics().reused, 0U);
}

TEST(client_connections, that_are_spoiled_behind_a_response_go_to_nobody_who_waits) {
    const auto responding = [](const gate& go, const gate& later) {
        return script().read_head().stall(go).respond("one").stall(later);
    };
    const std::string forged = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged";
    {
        const gate go;
        const gate later;
        expect_not_handed_over(responding(go, later).send(forged).stall(), go, later);
    }
    const gate go;
    const gate later;
    expect_not_handed_over(responding(go, later).shutdown_output().stall(), go, later);
}

TEST(client_connections, that_have_to_be_new_are_not_those_of_others) {
    const gate cut;
    const scripted_peer peer({script().read_head().respond("warm").read_head().stall(cut).cut(),
                              script().read_head().respond("other").read_head().cut(),
                              script().read_head().respond("new")});
    http::pool_options p;
    p.connections_per_host = 1;
    http::client client({}, p);
    EXPECT_EQ(client.get(peer.url()).wait().body, "warm");
    std::expected<http::full_response, error> got;
    std::expected<http::full_response, error> other;
    const auto a = client.get(peer.url()).start([&](auto r) { got = std::move(r); });
    EXPECT_TRUE(peer.wait_for_stall());
    const auto b = client.get(peer.url()).start([&](auto r) { other = std::move(r); });
    while (client.statistics().waiting != 1) std::this_thread::yield();
    cut.open();
    a.wait();
    b.wait();
    ASSERT_TRUE(got) << got.error();
    ASSERT_TRUE(other) << other.error();
    EXPECT_EQ(other->body, "other");
    EXPECT_EQ(got->body, "new");
    EXPECT_EQ(got->info.attempts, 2U);
    EXPECT_FALSE(got->info.reused);
}

}  // namespace
}  // namespace coracle::testing
