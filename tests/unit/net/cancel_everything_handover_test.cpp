#include "support/cancel_everywhere.hpp"

#include <coracle/net/handover.hpp>
#include <coracle/net/listener.hpp>
#include <coracle/net/service_manager.hpp>
#include <coracle/net/unix_socket.hpp>
#include <coracle/runtime/spawn.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

// As tests/unit/runtime/cancel_everything_test.cpp, for the hand-over of listeners and the watchdog
// of a service manager.

using namespace coracle;
using namespace coracle::testing;

namespace {

struct path_row : cancel_row {
    static constexpr bool real = true;
    net::address at;
    std::optional<net::listener> l;
    task<> prepare() {
        const std::string name =
            "unix:@coracle-handover-" + std::to_string(loop::current()->random());
        at = net::address::parse(name).value();
        l.emplace(
            net::listener::open(*loop::current(), net::address::v4({127, 0, 0, 1}, 0)).value());
        co_return;
    }
    auto give() {
        auto sockets = [this]() -> std::expected<std::vector<net::inherited_socket>, error> {
            std::vector<net::inherited_socket> all;
            all.push_back({l->duplicate().value(), "web", l->local()});
            return all;
        };
        return net::hand_over(at, std::move(sockets));
    }
    /// Does as a process that takes over.
    task<> take() const {
        auto to = net::unix_socket::connect(*loop::current(), at);
        if (!to) co_return;
        const auto came = co_await as_result(to->receive_with_descriptors());
        if (!came) co_return;
        static_cast<void>(co_await as_result(to->send("ready\n")));
        static_cast<void>(co_await as_result(to->receive()));
    }
};

struct hand_over_row : path_row {
    auto make() { return give(); }
    task<> help() {
        co_await turns(2);
        co_await take();
    }
};

struct ready_row : path_row {
    net::takeover taken;
    task<> prepare() {
        co_await path_row::prepare();
        spawn([this] { return give_once(); }, "hand over");
        co_await turns(2);
        // It blocks, and the other side is this loop.
        std::atomic<bool> done = false;
        std::thread asking([&] {
            taken = net::take_over(at).value();
            done = true;
        });
        while (!done) co_await yield();
        asking.join();
        EXPECT_EQ(taken.sockets.size(), 1U);
        EXPECT_EQ(taken.sockets.at(0).name, "web");
        EXPECT_EQ(taken.sockets.at(0).local, l->local());
    }
    bool is_given = false;
    task<> give_once() {
        static_cast<void>(co_await as_result(give()));
        is_given = true;
    }
    auto make() { return taken.ready(); }
    /// One that was not ready has changed nothing: the next may take over.
    task<> finish() {
        taken = {};
        co_await turns(3);
        if (!is_given) co_await take();
        while (!is_given) co_await yield();
    }
};

struct keep_alive_row : cancel_row {
    static constexpr bool endless = true;
    net::service_manager none;
    runtime loops{};
    auto make() { return none.keep_alive(loops); }
};

constexpr cancel_case cases[] = {
    row<hand_over_row>("net::hand_over(a, f)"),
    row<ready_row>("takeover::ready()"),
    row<keep_alive_row>("service_manager::keep_alive(r)"),
};

class cancelled_in_a_hand_over : public ::testing::TestWithParam<cancel_case> {};

}  // namespace

TEST(a_takeover, without_patience_waits_for_nobody) {
    block_on([]() -> task<> {
        const std::string name =
            "unix:@coracle-handover-" + std::to_string(loop::current()->random());
        const auto at = net::address::parse(name).value();
        // Connections to it wait for ever to be accepted.
        const auto silent = net::unix_listener::open(*loop::current(), at);
        EXPECT_TRUE(silent);
        EXPECT_FALSE(net::take_over(at, duration::zero()));
        co_return;
    });
}

TEST_P(cancelled_in_a_hand_over, unwinds_and_loses_nothing) {
    GetParam().run();
}

INSTANTIATE_TEST_SUITE_P(net, cancelled_in_a_hand_over, ::testing::ValuesIn(cases),
                         [](const auto& i) { return test_name(i.param.name); });
