// The share that a task has of a turn of its loop.

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

using namespace coracle;
using namespace std::chrono_literals;

namespace {

/// Computes for so long.
void compute(duration d) {
    backend& b = loop::current()->backend();
    for (const time_point until = b.now() + d; b.now() < until;) {
    }
}

/// Awaits what is there already, each time after computing, for 16 turns; gives how often in the
/// last whole one.
task<int> uses_up_its_share(duration each) {
    loop& l = *loop::current();
    event there;
    there.set();
    co_await yield();
    const std::uint64_t last = l.turns() + 16;
    std::uint64_t turn = l.turns();
    int done = 0;
    for (;;) {
        compute(each);
        co_await there.wait();
        if (l.turns() == turn) {
            ++done;
            continue;
        }
        if (l.turns() >= last) co_return done;
        turn = l.turns();
        done = 0;
    }
}

std::vector<int> shares_of(std::size_t tasks, duration each) {
    std::vector<int> shares;
    const auto run = [&]() -> task<> {
        std::vector<task<int>> all;
        for (std::size_t i = 0; i != tasks; ++i) all.push_back(uses_up_its_share(each));
        shares = co_await when_all(std::move(all));
    };
    // Computing takes no time in a simulation.
    if (each == 0s)
        coracle::testing::simulation().run(run);
    else
        block_on(run);
    return shares;
}

}  // namespace

TEST(share_of_a_turn, is_that_of_few_where_turns_are_short) {
    for (const int done : shares_of(200, 0s)) EXPECT_EQ(done, 64);
}

// Whole shares would take 128 ms.
TEST(share_of_a_turn, shrinks_where_many_use_it_up) {
    for (const int done : shares_of(100, 20us)) {
        EXPECT_LE(done, 16);
        EXPECT_GE(done, 3);
    }
}
