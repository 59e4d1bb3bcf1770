// The code that an event resumes sees the time that was spent waiting for it.

#include "support/backends.hpp"

#include <coracle/runtime/spawn.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

namespace coracle {
namespace {

using namespace std::chrono_literals;

class clock_after_waiting : public ::testing::TestWithParam<testing::backend_case> {};

/// A peer on a loop and a thread of its own: what it sends, 100 ms after what we do, is the only
/// event of ours.
task<> send_later(net::address to) {
    auto s = co_await net::connect(to);
    static_cast<void>(co_await s->receive());
    co_await sleep_for(100ms);
    co_await s->send("x");
    static_cast<void>(co_await as_result(s->receive()));
}

task<> look_at_the_clock(loop& l, net::listener& from, bool& done) {
    auto s = co_await from.accept();
    const time_point before = l.now();
    co_await s->send("y");
    static_cast<void>(co_await s->receive());
    EXPECT_GE(l.now() - before, 90ms);
    done = true;
}

TEST_P(clock_after_waiting, is_that_of_the_event) {
    auto opened = GetParam().open();
    ASSERT_TRUE(opened) << opened.error();
    const logger silent;
    loop l(std::move(*opened), silent);
    auto from = net::listener::open(l, testing::loopback());
    ASSERT_TRUE(from) << from.error();
    std::thread peer([to = from->local()] { block_on([to] { return send_later(to); }); });
    bool done = false;
    l.post([&] { spawn([&] { return look_at_the_clock(l, *from, done); }); });
    l.run_until(done);
    from->close();
    peer.join();
}

INSTANTIATE_TEST_SUITE_P(each_backend, clock_after_waiting,
                         ::testing::ValuesIn(testing::each_backend()),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace coracle
