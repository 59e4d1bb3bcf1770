#include "support/cancel_everywhere.hpp"

#include <coracle/runtime/broadcast.hpp>
#include <coracle/runtime/cancel_source.hpp>
#include <coracle/runtime/channel.hpp>
#include <coracle/runtime/condition.hpp>
#include <coracle/runtime/futex.hpp>
#include <coracle/runtime/latch.hpp>
#include <coracle/runtime/mutex.hpp>
#include <coracle/runtime/offload.hpp>
#include <coracle/runtime/once.hpp>
#include <coracle/runtime/semaphore.hpp>
#include <coracle/runtime/stop_token.hpp>

#include <gtest/gtest.h>

// As cancel_everything_test.cpp, for what tasks and threads wait for each other with.

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

task<int> wait_and_give() {
    co_await turns(3);
    co_return 5;
}

struct mutex_row : cancel_row {
    static constexpr bool again = true;
    mutex<int> m{1};
    std::optional<mutex_guard<int>> held;
    task<> prepare() { held.emplace(co_await m.lock()); }
    auto make() { return m.lock(); }
    task<> help() {
        co_await turns(3);
        held.reset();
    }
    task<> finish() {
        EXPECT_FALSE(m.locked());
        co_return;
    }
};

struct acquire_row : cancel_row {
    static constexpr bool again = true;
    semaphore s{1};
    auto make() { return s.acquire(2); }
    task<> help() {
        co_await turns(3);
        s.release(1);
    }
};

struct hold_row : acquire_row {
    auto make() { return s.hold(2); }
    task<> finish() {
        EXPECT_EQ(s.available(), 2u);
        co_return;
    }
};

struct condition_row : cancel_row {
    condition c;
    auto make() { return c.wait(1); }
    task<> help() {
        co_await turns(3);
        c.notify_one(1);
    }
};

struct latch_row : cancel_row {
    static constexpr bool again = true;
    latch l{1};
    auto make() { return l.wait(); }
    task<> help() {
        co_await turns(3);
        if (!l.is_zero()) l.count_down();
    }
};

struct arrive_row : cancel_row {
    latch l{1000};
    auto make() { return l.arrive_and_wait(); }
    task<> help() {
        co_await turns(3);
        l.count_down(l.left());
    }
};

struct once_row : cancel_row {
    static constexpr bool again = true;
    once o;
    static task<> work() { co_await turns(3); }
    auto make() { return o.run(&work); }
};

struct futex_row : cancel_row {
    static constexpr bool again = true;
    futex f{0};
    auto make() { return f.wait(0); }
    task<> help() {
        co_await turns(3);
        f.word = 1;
        f.wake();
    }
};

struct channel_receive_row : cancel_row {
    static constexpr bool again = true;
    channel<int> c{1};
    auto make() { return c.receive(); }
    task<> help() {
        co_await turns(3);
        co_await c.send(7);
    }
};

struct channel_send_row : cancel_row {
    static constexpr bool again = true;
    channel<int> c{1};
    task<> prepare() { co_await c.send(1); }
    auto make() { return c.send(2); }
    task<> help() {
        co_await turns(3);
        EXPECT_EQ(co_await c.receive(), 1);
    }
    task<> finish() {
        EXPECT_EQ(co_await c.receive(), 2);
        EXPECT_EQ(c.size(), 0u);
    }
};

struct broadcast_receive_row : cancel_row {
    static constexpr bool again = true;
    broadcast<int> b{4};
    broadcast_reader<int> reader = b.subscribe();
    auto make() { return reader.receive(); }
    task<> help() {
        co_await turns(3);
        co_await b.send(7);
    }
};

struct broadcast_send_row : cancel_row {
    static constexpr bool again = true;
    broadcast<int> b{1, slow_reader::wait};
    broadcast_reader<int> reader = b.subscribe();
    task<> prepare() { co_await b.send(1); }
    auto make() { return b.send(2); }
    task<> help() {
        co_await turns(3);
        EXPECT_EQ(co_await reader.receive(), 1);
    }
    task<> finish() { EXPECT_EQ(co_await reader.receive(), 2); }
};

struct offload_row : cancel_row {
    static constexpr bool waits_for_a_thread = true;
    static constexpr bool real = true;
    static constexpr bool again = true;
    static int work() { return 5; }
    auto make() { return offload(&work); }
};

struct with_cancel_row : cancel_row {
    cancel_source source;
    auto make() { return with_cancel(source, wait_and_give()); }
};

struct with_stop_token_row : cancel_row {
    std::stop_source source;
    auto make() { return with_stop_token(source.get_token(), wait_and_give()); }
};

constexpr cancel_case cases[] = {
    row<mutex_row>("mutex::lock()"),
    row<acquire_row>("semaphore::acquire(n)"),
    row<hold_row>("semaphore::hold(n)"),
    row<condition_row>("condition::wait(mask)"),
    row<latch_row>("latch::wait()"),
    row<arrive_row>("latch::arrive_and_wait(n)"),
    row<once_row>("once::run(f)"),
    row<futex_row>("futex::wait(expected)"),
    row<channel_receive_row>("channel::receive()"),
    row<channel_send_row>("channel::send(value)"),
    row<broadcast_receive_row>("broadcast_reader::receive()"),
    row<broadcast_send_row>("broadcast::send(value)"),
    row<offload_row>("offload(f)"),
    row<with_cancel_row>("with_cancel(source, f)"),
    row<with_stop_token_row>("with_stop_token(token, f)"),
};

class cancelled_among_tasks : public ::testing::TestWithParam<cancel_case> {};

}  // namespace

TEST_P(cancelled_among_tasks, unwinds_and_loses_nothing) {
    GetParam().run();
}

INSTANTIATE_TEST_SUITE_P(runtime, cancelled_among_tasks, ::testing::ValuesIn(cases),
                         [](const auto& i) { return test_name(i.param.name); });
