// The share that a task has of a turn of its loop.

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/semaphore.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/spawn.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
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

/// Takes permits, of which there are enough, until the turn is over, in each of 16 turns; gives how
/// many in the last of them. What has taken a permit comes among the others.
task<int> uses_up_its_share(duration each, semaphore& permits) {
    loop& l = *loop::current();
    int done = 0;
    for (int i = 0; i != 16; ++i) {
        const std::uint64_t turn = l.turns();
        for (done = 0; l.turns() == turn; ++done) {
            compute(each);
            co_await permits.acquire();
            permits.release();
        }
    }
    co_return done - 1;
}

/// Computes for a whole share in each of so many turns, and counts the tasks that do in each turn.
task<> computes(int rounds, std::map<std::uint64_t, int>& ran) {
    event there;
    there.set();
    // The first turn is that of the task that starts them all.
    co_await one_turn(0s, there);
    for (int i = 0; i != rounds; ++i) {
        ++ran[loop::current()->turns()];
        co_await one_turn(200us, there);
    }
}

/// Awaits what is there already, so often.
task<> awaits(int times) {
    event there;
    there.set();
    for (int i = 0; i != times; ++i) co_await there.wait();
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
        semaphore permits(tasks);
        std::vector<task<int>> all;
        for (std::size_t i = 0; i != tasks; ++i) all.push_back(uses_up_its_share(each, permits));
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

// Four tasks with the least share take 3.2 ms.
TEST(a_turn, runs_tasks_that_use_up_their_shares_for_a_while) {
    constexpr int tasks = 25;
    constexpr int rounds = 2;
    std::map<std::uint64_t, int> ran;
    block_on([&]() -> task<> {
        std::vector<task<>> all;
        for (int i = 0; i != tasks; ++i) all.push_back(computes(rounds, ran));
        co_await when_all(std::move(all));
    });
    int sum = 0;
    for (const auto& [turn, count] : ran) {
        EXPECT_LE(count, 4) << "in turn " << turn;
        sum += count;
    }
    EXPECT_EQ(sum, tasks * rounds);
}

// Those who compute need 13 turns for a round.
TEST(a_turn, is_the_next_one_for_all_that_do_not) {
    std::map<std::uint64_t, int> ran;
    std::uint64_t longest = 0;
    block_on([&]() -> task<> {
        auto passes_on = [&](event& mine, event& other) -> task<> {
            for (int i = 0; i != 20; ++i) {
                const std::uint64_t before = loop::current()->turns();
                co_await mine.wait();
                mine.reset();
                longest = std::max(longest, loop::current()->turns() - before);
                other.set();
            }
        };
        event ping;
        event pong;
        ping.set();
        std::vector<task<>> all;
        all.push_back(passes_on(ping, pong));
        all.push_back(passes_on(pong, ping));
        for (int i = 0; i != 50; ++i) all.push_back(computes(3, ran));
        co_await when_all(std::move(all));
    });
    EXPECT_LE(longest, 3u);
}

// A round of those who compute takes 13 turns.
TEST(a_turn, is_the_next_one_for_what_is_cancelled) {
    std::map<std::uint64_t, int> ran;
    std::uint64_t took = 0;
    block_on([&]() -> task<> {
        const auto crowd = [&](task_group& g) -> task<> {
            for (int i = 0; i != 50; ++i) g.spawn([&] { return computes(3, ran); });
            co_await sleep_for(20ms);
            const std::uint64_t before = loop::current()->turns();
            g.cancel();
            co_await yield();
            took = before;
        };
        co_await as_result(with_task_group(crowd));
        took = loop::current()->turns() - took;
    });
    EXPECT_LE(took, 4u);
}

TEST(share_of_a_turn, is_that_of_each_timer) {
    std::vector<std::uint64_t> turns;
    coracle::testing::simulation().run([&]() -> task<> {
        const time_point due = loop::current()->now() + 1ms;
        const auto wakes = [&]() -> task<> {
            co_await sleep_until(due);
            co_await awaits(64);
            turns.push_back(loop::current()->turns());
        };
        std::vector<task<>> all;
        for (int i = 0; i != 10; ++i) all.push_back(wakes());
        co_await when_all(std::move(all));
    });
    ASSERT_EQ(turns.size(), 10u);
    EXPECT_EQ(turns.front(), turns.back());
}

// Each that is spawned may complete 64 operations, for one of the task that spawns it.
TEST(share_of_a_turn, is_that_of_each_task_that_is_spawned) {
    std::map<std::uint64_t, int> ended;
    coracle::testing::simulation().run([&]() -> task<> {
        const auto spawn_all = [&](task_group& g) -> task<> {
            for (int i = 0; i != 100; ++i) {
                g.spawn([&]() -> task<> {
                    co_await awaits(64);
                    ++ended[loop::current()->turns()];
                });
            }
            co_return;
        };
        co_await with_task_group(spawn_all);
    });
    ASSERT_EQ(ended.size(), 2u);
    EXPECT_EQ(ended.begin()->second, 64);
}

TEST(share_of_a_turn, is_one_for_all_tasks_that_spawn_each_other) {
    std::map<std::uint64_t, int> ended;
    coracle::testing::simulation().run([&]() -> task<> {
        const auto spawn_all = [&](task_group& g) -> task<> {
            const auto inner = [&]() -> task<> {
                co_await awaits(40);
                ++ended[loop::current()->turns()];
            };
            g.spawn([&]() -> task<> {
                g.spawn(inner);
                g.spawn(inner);
                co_await awaits(1);
            });
            co_return;
        };
        co_await with_task_group(spawn_all);
    });
    EXPECT_EQ(ended.size(), 2u);
}

TEST(share_of_a_turn, grows_again_where_turns_are_short) {
    EXPECT_EQ(block_on(computes_no_more), 64);
}
