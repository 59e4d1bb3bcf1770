// Clients that send their end before they have the response: the same on every backend.

#include "support/on_each_backend.hpp"

#include <coracle/http/server.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/spawn.hpp>

#include <string>
#include <vector>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view request_text = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/// A server on the test's own loop, whose handler waits until it is told to go on.
class half_close : public on_each_backend {
protected:
    template <class F>
    void serve(duration limit, F f) {
        http::server_options o;
        o.listen = "127.0.0.1:0";
        o.timeouts.half_closed = limit;
        const auto handle = [this](http::request&) -> task<http::response> {
            ++entered;
            co_await go_on.wait();
            co_return http::response("late");
        };
        http::server s(handle, o);
        server = &s;
        const auto main = [&]() -> task<> {
            s.open(*loop::current());
            bool ended = false;
            spawn([&]() -> task<> {
                co_await as_result(s.run(*loop::current()));
                ended = true;
            });
            co_await f();
            s.stop();
            while (!ended) co_await yield();
        };
        run(main);
    }

    task<std::unique_ptr<net::socket>> ask() {
        auto connecting = net::connect(server->addresses().front());
        auto peer = co_await connecting;
        EXPECT_EQ(peer->try_send(request_text), static_cast<std::int64_t>(request_text.size()));
        co_return peer;
    }

    template <class F>
    static task<> until(const F& f) {
        for (int i = 0; i != 200'000 && !f(); ++i) co_await yield();
        EXPECT_TRUE(f());
    }

    http::server* server = nullptr;
    event go_on;
    unsigned entered = 0;
};

task<std::string> read_to_end(net::socket& from) {
    std::string all;
    for (;;) {
        auto came = co_await as_result(from.receive());
        if (!came) break;
        all += came->view();
    }
    co_return all;
}

}  // namespace

TEST_P(half_close, gets_a_response_whenever_the_end_comes) {
    const auto f = [this]() -> task<> {
        for (unsigned i = 0; i != 40; ++i) {
            const bool with_the_request = i % 2 == 0;
            go_on.reset();
            auto peer = co_await ask();
            if (with_the_request) peer->shutdown_output();
            co_await until([&] { return entered == i + 1; });
            if (!with_the_request) peer->shutdown_output();
            for (int turn = 0; turn != 20; ++turn) co_await yield();
            go_on.set();
            const std::string got = co_await read_to_end(*peer);
            EXPECT_TRUE(got.ends_with("late")) << i << ": " << got;
        }
        EXPECT_EQ(server->counters().clients_gone, 0u);
    };
    serve(1h, f);
}

TEST_P(half_close, holds_no_connection_whose_client_has_closed) {
    const auto f = [this]() -> task<> {
        for (unsigned i = 0; i != 20; ++i) {
            auto peer = co_await ask();
            if (i % 2 == 0) peer->shutdown_output();
            peer->close();
        }
        while (server->counters().half_closed_timeouts != 20) co_await sleep_for(1ms);
        co_await until([&] { return server->counters().open == 0; });
        EXPECT_EQ(server->counters().clients_gone, 20u);
    };
    serve(50ms, f);
}

TEST_P(half_close, is_over_when_the_client_resets) {
    const auto f = [this]() -> task<> {
        for (unsigned i = 0; i != 10; ++i) {
            auto peer = co_await ask();
            peer->shutdown_output();
            co_await until([&] { return entered == i + 1; });
            for (unsigned turn = 0; turn != i; ++turn) co_await yield();
            peer->close(true);
            co_await until([&] { return server->counters().open == 0; });
        }
        EXPECT_EQ(server->counters().clients_gone, 10u);
        EXPECT_EQ(server->counters().half_closed_timeouts, 0u);
    };
    serve(1h, f);
}

INSTANTIATE_TEST_SUITE_P(on, half_close, system_backends(), backend_name);
