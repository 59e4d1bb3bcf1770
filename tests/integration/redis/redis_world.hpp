#pragma once

#include "support/redis_server.hpp"

#include <coracle/redis/client.hpp>
#include <coracle/runtime/offload.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <expected>
#include <string>
#include <string_view>
#include <vector>

// A server of Redis and what tests ask of it.
namespace redis_world {

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::redis_server;

class redis_test : public ::testing::Test {
protected:
    void SetUp() override {
        if (!redis_server::is_installed()) GTEST_SKIP() << "redis-server is not installed";
    }
};

/// Start, stop and freeze the server from a task; the loop must not be held as long as that takes.
inline task<> start(redis_server& server) {
    const auto starting = [&server] { server.start(); };
    co_await offload(starting);
}
inline task<> stop(redis_server& server) {
    const auto stopping = [&server] { server.stop(); };
    co_await offload(stopping);
}
inline task<> freeze(const redis_server& server) {
    const auto freezing = [&server] { server.freeze(); };
    co_await offload(freezing);
}

/// The number that a command on a connection of its own is replied to with.
inline task<int> number_of(const redis_server& server, const std::vector<std::string>& command) {
    const auto asking = [&] { return std::stoi(server.ask(command).substr(1)); };
    co_return co_await offload(asking);
}
/// Waits until the server holds no key.
inline task<bool> is_emptied(const redis_server& server) {
    const time_point end = loop::current()->now() + 30s;
    const std::vector<std::string> size{"DBSIZE"};
    for (;;) {
        const int keys = co_await number_of(server, size);
        if (keys == 0 || loop::current()->now() > end) co_return keys == 0;
        co_await sleep_for(2ms);
    }
}

/// The outcome of a command, without a throw.
inline task<std::expected<redis::reply, error>> outcome_of(operation<redis::reply> asking) {
    co_return co_await as_result(asking);
}
template <class... Part>
task<std::expected<redis::reply, error>> ask(redis::client& c, const Part&... parts) {
    return outcome_of(c.command(parts...));
}

/// Waits for a thing that another process or thread brings about, for 30 seconds at most.
template <class Condition>
task<bool> eventually(Condition condition) {
    const time_point end = loop::current()->now() + 30s;
    while (!condition()) {
        if (loop::current()->now() > end) co_return false;
        co_await sleep_for(2ms);
    }
    co_return true;
}

/// Repeats PING until it succeeds.
inline task<bool> until_it_serves(redis::client& c) {
    const time_point end = loop::current()->now() + 30s;
    while (loop::current()->now() < end) {
        auto said = co_await ask(c, "PING");
        if (said) co_return true;
        co_await sleep_for(5ms);
    }
    co_return false;
}

}  // namespace redis_world
