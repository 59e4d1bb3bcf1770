// Routes that come and go while a real server is asked for them.
#include "support/blocking_peer.hpp"

#include <coracle/http/router.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/local_server.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace coracle;
using coracle::testing::blocking_peer;
using coracle::testing::local_server;
using coracle::testing::local_server_options;
using http::request;
using http::response;
using http::router;

namespace {

local_server_options two_loops() {
    local_server_options o;
    o.loops = 2;
    o.limits.requests = 10'000'000;
    return o;
}

/// Asks on one connection until it is told to stop; every response must be the one that is due.
class client {
public:
    client(std::uint16_t port, std::string path)
        : thread_([this, port, path = std::move(path)] { run(port, path); }) {}
    ~client() {
        stop_ = true;
        thread_.join();
    }
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    void wait_for(std::uint64_t responses) const {
        while (responses_ < responses && lost_ == 0) std::this_thread::yield();
    }
    std::uint64_t responses() const { return responses_; }
    std::uint64_t lost() const { return lost_; }

private:
    void run(std::uint16_t port, const std::string& path) {
        blocking_peer peer(port);
        const std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n";
        const std::string res = "\r\n\r\nhere is " + path;
        while (!stop_) {
            if (!peer.send(request) || !peer.receive_until(res)) {
                ++lost_;
                return;
            }
            ++responses_;
        }
    }

    std::atomic<bool> stop_{false};
    std::atomic<std::uint64_t> responses_{0};
    std::atomic<std::uint64_t> lost_{0};
    std::thread thread_;
};

std::string here(request& req) {
    return "here is " + std::string(req.path());
}

int status_of(std::uint16_t port, const std::string& path) {
    blocking_peer peer(port);
    EXPECT_TRUE(peer.send("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n"));
    return peer.receive_until("here is " + path) ? 200 : 404;
}

}  // namespace

TEST(live_router, loses_no_request_while_ten_thousand_routes_come_and_go) {
    router routes;
    routes.get("/stays", here);
    routes.get("/r/{id}/stays", here);
    // One that gives the loop away, so that changes come while it waits.
    routes.get("/late/{id}", [token = std::make_shared<int>(7)](request& req) -> task<response> {
        co_await yield();
        co_return here(req) + (token.use_count() == 1 ? "" : "?");
    });
    const local_server server(routes, two_loops());
    client a(server.port(), "/stays");
    client b(server.port(), "/r/5/stays");
    client c(server.port(), "/late/5");
    for (client* each : {&a, &b, &c}) each->wait_for(1);

    constexpr int count = 10'000;
    const auto path = [](int i) {
        return "/r/" + std::to_string(i % 100) + "/x" + std::to_string(i);
    };
    for (int i = 0; i != count; ++i) {
        routes.get(path(i), here);
        if (i % 1000 == 0) {
            EXPECT_EQ(status_of(server.port(), path(i)), 200) << i;
            // The route that a client waits in is another from now on.
            routes.replace("GET", "/late/{id}", [](request& req) -> task<response> {
                co_await yield();
                co_return here(req);
            });
        }
    }
    for (client* each : {&a, &b, &c}) each->wait_for(each->responses() + 10);
    EXPECT_EQ(status_of(server.port(), path(count - 1)), 200);
    for (int i = 0; i != count; ++i) EXPECT_TRUE(routes.remove("GET", path(i))) << i;
    for (client* each : {&a, &b, &c}) {
        each->wait_for(each->responses() + 10);
        EXPECT_EQ(each->lost(), 0u);
    }
    EXPECT_EQ(routes.describe(),
              "METHOD  PATTERN\n"
              "GET     /stays\n"
              "GET     /r/{id}/stays\n"
              "GET     /late/{id}\n");
}

TEST(live_router, is_changed_from_handlers_and_threads_at_the_same_time) {
    router routes;
    std::atomic<int> next{0};
    routes.get("/add", [&](request&) {
        const std::string path = "/added/" + std::to_string(next++);
        routes.get(path, here).name(path);
        return "here is /add";
    });
    routes.get("/stays", here);
    const local_server server(routes, two_loops());
    {
        const client a(server.port(), "/add");
        const client b(server.port(), "/add");
        const client c(server.port(), "/stays");
        std::thread other([&] {
            for (int i = 0; i != 200; ++i) {
                routes.update([i](router& all) {
                    all.get("/other/" + std::to_string(i), here);
                    all.remove("/other/" + std::to_string(i - 1));
                });
            }
        });
        other.join();
        for (const client* each : {&a, &b, &c}) each->wait_for(20);
        for (const client* each : {&a, &b, &c}) EXPECT_EQ(each->lost(), 0u);
    }
    EXPECT_GE(next, 40);
    for (int i = 0; i != next; ++i) {
        const std::string path = "/added/" + std::to_string(i);
        EXPECT_EQ(routes.url(path), path);
    }
    EXPECT_EQ(status_of(server.port(), "/other/199"), 200);
}

TEST(live_router, is_not_spoilt_by_middleware_that_cannot_be_made) {
    router routes;
    routes.get("/old", here);
    const local_server server(routes);
    bool throws = true;
    const auto fails = [&throws](http::handler inner) {
        if (throws) throw std::runtime_error("by intent");
        return inner;
    };
    EXPECT_THROW(routes.use(fails), std::runtime_error);
    EXPECT_EQ(status_of(server.port(), "/old"), 200);
    routes.get("/new", here);
    EXPECT_EQ(status_of(server.port(), "/new"), 200);
    // One of them is enough: what a change added is taken back with it.
    const auto adds_and_fails = [&](router& r) {
        r.get("/half", here);
        r.use(fails);
    };
    EXPECT_THROW(routes.update(adds_and_fails), std::runtime_error);
    EXPECT_EQ(status_of(server.port(), "/half"), 404);
    throws = false;
    routes.use(fails);
    routes.get("/half", here);
    EXPECT_EQ(status_of(server.port(), "/half"), 200);
}
