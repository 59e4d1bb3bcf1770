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

/// Awaits what is there already, each time after computing, until the turn is over; gives how
/// often.
task<int> one_turn(duration each, event& there) {
    loop& l = *loop::current();
    const std::uint64_t turn = l.turns();
    for (int done = 0;; ++done) {
        compute(each);
        co_await there.wait();
        if (l.turns() != turn) co_return done;
    }
}

/// Gives how often in the last of 16 turns.
task<int> uses_up_its_share(duration each) {
    event there;
    there.set();
    int done = 0;
    for (int i = 0; i != 16; ++i) done = co_await one_turn(each, there);
    co_return done;
}

/// Computes for some turns, and then no more; gives how often in the best of the others.
task<int> computes_no_more() {
    event there;
    there.set();
    for (int i = 0; i != 8; ++i) co_await one_turn(1ms, there);
    int most = 0;
    for (int i = 0; i != 200; ++i) most = std::max(most, co_await one_turn(0s, there));
    co_return most;
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

TEST(share_of_a_turn, grows_again_where_turns_are_short) {
    EXPECT_EQ(block_on(computes_no_more), 64);
}
