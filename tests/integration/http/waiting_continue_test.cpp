// A 100 (Continue) that waits until its client has read what was sent before.

#include "integration/http/simulated_server.hpp"

#include <coracle/http/client.hpp>
#include <coracle/http/forward.hpp>
#include <coracle/testing/scripted_peer.hpp>

using namespace simulated;

namespace {

constexpr std::size_t small_send_buffer = 4096;

simulation_options with_small_send_buffer() {
    simulation_options s;
    s.send_buffer = small_send_buffer;
    return s;
}

http::response respond_big(http::request& req) {
    return http::response(repeated(req.query<std::size_t>("n", 0), 'b'));
}

/// Sends a request that expects a 100, of which the server can send ten bytes only: the response
/// before it is as large as returned, and not read yet.
task<std::size_t> expect_without_room(peer& p, std::string_view path) {
    co_await p.send(get("/big?n=1000"));
    const std::string one = co_await read_response(p);
    const std::size_t size = small_send_buffer - 10;
    const std::size_t n = size - (one.size() - 1000);
    co_await p.send(get("/big?n=" + std::to_string(n)));
    co_await p.send(post(path, "Expect: 100-continue\r\nContent-Length: 5\r\n"));
    co_await sleep_for(1s);
    co_return size;
}

/// Does that, and reads up to the end of the 100.
task<> wait_for_continue(peer& p, std::string_view path) {
    const std::size_t size = co_await expect_without_room(p, path);
    const std::string before = co_await read_response(p);
    EXPECT_EQ(before.size(), size);
    EXPECT_EQ(co_await p.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
}

http::response relay_body(http::request& req) {
    http::response r;
    r.set_body(http::body::relay(req.body()));
    return r;
}

TEST(waiting_continue, is_followed_by_the_response) {
    http::router routes;
    routes.get("/big", respond_big);
    routes.post("/relay", relay_body);
    routes.post("/beside", [](http::request& req) {
        return http::stream([&req](http::body_writer& out) -> task<> {
            std::string body;
            const auto read = [&]() -> task<> { body = co_await req.body().text(); };
            const auto write = [&]() -> task<> { co_await out.write("-"); };
            co_await when_all(read(), write());
            co_await out.write(body);
        });
    });
    const http::handler all(std::move(routes));
    for (const char* path : {"/relay", "/beside"}) {
        for (const std::uint64_t seed : seeds(8)) {
            world w(seed, all, {}, with_small_send_buffer());
            w.run([path](world& on) -> task<> {
                peer p = co_await on.connect();
                co_await wait_for_continue(p, path);
                co_await p.send("12345");
                const std::string response = co_await p.read_until("12345");
                EXPECT_TRUE(response.starts_with("HTTP/1.1 200 ")) << response;
                EXPECT_EQ(on.counters().handler_errors, 0U);
            });
            if (HasFailure()) return;
        }
    }
}

TEST(waiting_continue, is_not_begun_while_an_interim_response_waits) {
    http::router routes;
    routes.get("/big", respond_big);
    routes.post("/hint", [](http::request& req) -> task<std::string> {
        std::string said;
        const http::response hints(http::status::early_hints);
        const auto inform = [&]() -> task<> { co_await req.inform(hints); };
        const auto read = [&]() -> task<> {
            const auto early = co_await as_result(req.body().read());
            if (!early) said = "refused";
        };
        co_await when_all(inform(), read());
        auto reading = req.body().text();
        co_return said + ": " + co_await std::move(reading);
    });
    const http::handler all(std::move(routes));
    for (const std::uint64_t seed : seeds(8)) {
        world w(seed, all, {}, with_small_send_buffer());
        w.run([](world& on) -> task<> {
            peer p = co_await on.connect();
            co_await expect_without_room(p, "/hint");
            co_await read_response(p);
            EXPECT_EQ(co_await p.read_until("\r\n\r\n"), "HTTP/1.1 103 Early Hints\r\n\r\n");
            EXPECT_EQ(co_await p.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
            co_await p.send("12345");
            const std::string response = co_await read_response(p);
            EXPECT_TRUE(response.ends_with("\r\n\r\nrefused: 12345")) << response;
        });
        if (HasFailure()) return;
    }
}

TEST(waiting_continue, is_of_the_first_of_two_reads) {
    http::router routes;
    routes.get("/big", respond_big);
    routes.post("/twice", [](http::request& req) -> task<std::string> {
        std::string body;
        std::string said;
        const auto first = [&]() -> task<> { body = co_await req.body().text(); };
        const auto second = [&]() -> task<> {
            const auto got = co_await as_result(req.body().read());
            if (!got && got.error() == std::errc::operation_in_progress) said = "refused";
        };
        co_await when_all(first(), second());
        co_return said + ": " + body;
    });
    const http::handler all(std::move(routes));
    for (const std::uint64_t seed : seeds(8)) {
        world w(seed, all, {}, with_small_send_buffer());
        w.run([](world& on) -> task<> {
            peer p = co_await on.connect();
            co_await wait_for_continue(p, "/twice");
            co_await p.send("12345");
            const std::string response = co_await read_response(p);
            EXPECT_TRUE(response.ends_with("\r\n\r\nrefused: 12345")) << response;
        });
        if (HasFailure()) return;
    }
}

TEST(waiting_continue, is_cut_by_a_drain_and_by_the_limit_of_writes) {
    for (const bool drains : {true, false}) {
        for (const std::uint64_t seed : seeds(8)) {
            http::router routes;
            routes.get("/big", respond_big);
            routes.post("/relay", relay_body);
            http::server_options o;
            o.timeouts.drain = 2s;
            world w(seed, http::handler(std::move(routes)), o, with_small_send_buffer());
            w.run([drains](world& on) -> task<> {
                peer p = co_await on.connect();
                co_await expect_without_room(p, "/relay");
                const time_point begun = on.sim.now();
                if (drains) on.server.stop();
                while (on.counters().open != 0) co_await sleep_for(100ms);
                EXPECT_LT(on.since(begun), drains ? 3s : 33s);
                EXPECT_EQ(on.counters().write_timeouts, drains ? 0U : 1U);
            });
            if (HasFailure()) return;
        }
    }
}

TEST(waiting_continue, is_followed_by_an_early_response) {
    const std::string refused = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n";
    const std::string broken = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n";
    for (const auto& [says, status] : {std::pair(refused, "403 "), std::pair(broken, "502 ")}) {
        for (const std::uint64_t seed : seeds(8)) {
            http::client client;
            http::router routes;
            routes.get("/big", respond_big);
            routes.post("/pass", http::forward_to(client, "http://127.0.0.1:81"));
            world w(seed, http::handler(std::move(routes)), {}, with_small_send_buffer());
            w.run([says, status](world& on) -> task<> {
                scripted_peer_options at;
                at.listen = "127.0.0.1:81";
                const scripted_peer upstream(on.sim.loop(),
                                             script().read_head().send(says).read_to_end(), at);
                peer p = co_await on.connect();
                co_await wait_for_continue(p, "/pass");
                const std::string response = co_await read_response(p);
                EXPECT_EQ(response.substr(9, 4), status) << response;
            });
            if (HasFailure()) return;
        }
    }
}

}  // namespace
