#include <coracle/net/serve.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

net::listener listening() {
    auto l = net::listener::open(*loop::current(), net::address::v4({127, 0, 0, 1}, 0));
    if (!l) throw_exception(l.error());
    return *std::move(l);
}

task<> echo(std::unique_ptr<net::socket> peer) {
    while (auto piece = co_await as_result(peer->receive())) co_await peer->send(piece->view());
}

/// Serves for so long.
template <class Handler>
task<> serve_for(duration d, net::listener& l, Handler& handler, net::serve_options o) {
    const auto serving = [&] { return net::serve(l, handler, o); };
    auto ended = co_await as_result(with_timeout(d, serving));
    EXPECT_FALSE(ended);
    EXPECT_EQ(ended.error(), std::errc::timed_out);
}

/// True when the server sends `text` back.
task<bool> is_echoed(const net::address& at, std::string text) {
    auto s = co_await as_result(net::connect(at));
    if (!s) co_return false;
    auto sent = co_await as_result((*s)->send(text));
    if (!sent) co_return false;
    std::string back;
    while (back.size() < text.size()) {
        auto piece = co_await as_result((*s)->receive());
        if (!piece) co_return false;
        back += piece->view();
    }
    co_return back == text;
}

}  // namespace

TEST(net_serve, runs_the_handler_for_each_connection) {
    simulation().run([]() -> task<> {
        net::listener l = listening();
        net::serve_counters counters;
        net::serve_options o;
        o.counters = &counters;
        const auto clients = [&]() -> task<> {
            for (int i = 0; i != 20; ++i) {
                EXPECT_TRUE(co_await is_echoed(l.local(), "text " + std::to_string(i)));
            }
        };
        auto handler = echo;
        co_await when_all(serve_for(1h, l, handler, o), clients());
        EXPECT_EQ(counters.accepted, 20u);
        EXPECT_EQ(counters.handler_errors, 0u);
    });
}

TEST(net_serve, survives_running_out_of_descriptors) {
    simulation_options world;
    world.descriptors = 12;
    simulation(world).run([]() -> task<> {
        net::listener l = listening();
        net::serve_counters counters;
        net::serve_options o;
        o.counters = &counters;
        const auto clients = [&]() -> task<> {
            std::vector<std::unique_ptr<net::socket>> open;
            // Each takes one descriptor here and one there, until there are none for it.
            while (auto s = co_await as_result(net::connect(l.local()))) {
                open.push_back(*std::move(s));
                if (open.size() > 20) break;
                co_await sleep_for(1s);
            }
            EXPECT_GT(counters.accept_failures, 0u);
            open.clear();
            co_await sleep_for(10s);
            EXPECT_TRUE(co_await is_echoed(l.local(), "again"));
        };
        auto handler = echo;
        co_await when_all(serve_for(1h, l, handler, o), clients());
    });
}

TEST(net_serve, refuses_one_that_waits_while_there_are_no_descriptors) {
    simulation sim;
    sim.run([&]() -> task<> {
        net::listener l = listening();
        net::serve_counters counters;
        net::serve_options o;
        o.counters = &counters;
        const auto client = [&]() -> task<> {
            co_await sleep_for(1s);
            // The client's is the last.
            sim.backend().limit_descriptors(sim.backend().open_descriptors() + 1);
            auto late = co_await net::connect(l.local());
            const auto receive = [&] { return late->receive(); };
            auto end = co_await as_result(with_timeout(10s, receive));
            EXPECT_FALSE(end);
            EXPECT_NE(end.error(), std::errc::timed_out) << "it is left hanging";
            EXPECT_EQ(counters.accepted, 0u);
            EXPECT_GE(counters.accept_failures, 1u);
            sim.backend().limit_descriptors(SIZE_MAX);
        };
        auto handler = echo;
        co_await when_all(serve_for(1h, l, handler, o), client());
    });
}

TEST(net_serve, serves_no_more_at_once_than_its_limit) {
    // None is taken for one.
    for (const std::size_t limit : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
        simulation().run([limit]() -> task<> {
            net::listener l = listening();
            net::serve_counters counters;
            net::serve_options o;
            o.connections = limit;
            o.counters = &counters;
            std::size_t now = 0;
            std::size_t most = 0;
            const auto handler = [&](std::unique_ptr<net::socket> peer) -> task<> {
                most = std::max(most, ++now);
                co_await sleep_for(1s);
                --now;
                co_await peer->send("x");
            };
            const auto client = [&]() -> task<> {
                auto s = co_await net::connect(l.local());
                co_await s->receive();
            };
            const auto clients = [&]() -> task<> {
                std::vector<task<>> all;
                for (int i = 0; i != 6; ++i) all.push_back(client());
                co_await when_all(std::move(all));
            };
            co_await when_all(serve_for(1h, l, handler, o), clients());
            EXPECT_EQ(most, std::max<std::size_t>(limit, 1));
            EXPECT_EQ(counters.accepted, 6u);
            EXPECT_GT(counters.paused, 0u);
        });
    }
}

TEST(net_serve, goes_on_behind_a_handler_that_throws) {
    simulation world;
    world.log().set_sink(nullptr, nullptr);
    world.run([]() -> task<> {
        net::listener l = listening();
        net::serve_counters counters;
        net::serve_options o;
        o.counters = &counters;
        int n = 0;
        const auto handler = [&](std::unique_ptr<net::socket> peer) -> task<> {
            ++n;
            if (n == 1) throw std::runtime_error("first");
            if (n == 2) throw_exception(error(std::errc::io_error, "second"));
            if (n == 3) throw 3;
            co_await echo(std::move(peer));
        };
        const auto clients = [&]() -> task<> {
            for (int i = 0; i != 3; ++i) {
                EXPECT_FALSE(co_await is_echoed(l.local(), "text"));
            }
            EXPECT_TRUE(co_await is_echoed(l.local(), "text"));
        };
        co_await when_all(serve_for(1h, l, handler, o), clients());
        EXPECT_EQ(counters.handler_errors, 3u);
    });
}

TEST(net_serve, cancelled_waits_for_its_handlers_and_then_cuts_them) {
    simulation().run([]() -> task<> {
        net::listener l = listening();
        net::serve_counters counters;
        net::serve_options o;
        o.drain = 10s;
        o.counters = &counters;
        int done = 0;
        const auto handler = [&](std::unique_ptr<net::socket> peer) -> task<> {
            const buffer first = co_await peer->receive();
            const std::chrono::seconds busy = first.view() == "short" ? 5s : 1h;
            co_await sleep_for(busy);
            ++done;
        };
        const auto client = [&](std::string text) -> task<> {
            auto s = co_await net::connect(l.local());
            co_await s->send(text);
            static_cast<void>(co_await as_result(s->receive()));
        };
        const auto start = loop::current()->now();
        co_await when_all(serve_for(1s, l, handler, o), client("short"), client("long"));
        EXPECT_EQ(done, 1);
        EXPECT_EQ(counters.cut, 1u);
        EXPECT_GE(loop::current()->now() - start, 11s);
        EXPECT_LT(loop::current()->now() - start, 12s);
    });
}

TEST(net_serve, ends_when_its_listener_is_closed) {
    simulation().run([]() -> task<> {
        net::listener l = listening();
        auto handler = echo;
        net::serve_options o;
        const auto serves = [&]() -> task<> {
            l.close();
            auto ended = co_await as_result(net::serve(l, handler, o));
            EXPECT_FALSE(ended);
            EXPECT_NE(ended.error(), std::errc::timed_out);
        };
        co_await with_timeout(1h, serves);
    });
}
