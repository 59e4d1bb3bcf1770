#include "support/allocation_count.hpp"

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/offload.hpp>
#include <coracle/runtime/on.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace coracle;
using namespace std::chrono_literals;

namespace {

runtime_options with_loops(unsigned n) {
    runtime_options o;
    o.loops = n;
    return o;
}

/// Those that the calling thread may run on.
std::vector<int> cores() {
    std::vector<int> all;
    cpu_set_t set;
    EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
    for (int i = 0; i != CPU_SETSIZE; ++i) {
        if (CPU_ISSET(static_cast<unsigned>(i), &set)) all.push_back(i);
    }
    return all;
}

}  // namespace

TEST(runtime, runs_once_on_each_of_its_loops) {
    runtime rt(with_loops(2));
    ASSERT_EQ(rt.loops(), 2u);
    std::atomic<unsigned> seen{0};
    std::thread::id threads[2];
    const auto main = [&](loop& l) -> task<> {
        EXPECT_EQ(loop::current(), &l);
        seen += 1u << l.index();
        threads[l.index()] = std::this_thread::get_id();
        co_await yield();
    };
    rt.run(main);
    EXPECT_EQ(seen.load(), 3u);
    EXPECT_EQ(threads[0], std::this_thread::get_id());
    EXPECT_NE(threads[0], threads[1]);
}

TEST(runtime, is_stopped_from_another_thread) {
    runtime rt(with_loops(2));
    std::atomic<int> started{0};
    std::atomic<bool> went_on{false};
    std::thread stopper([&] {
        started.wait(0);
        started.wait(1);
        rt.stop();
    });
    const auto main = [&](loop&) -> task<> {
        ++started;
        started.notify_all();
        co_await forever();
        went_on = true;
    };
    rt.run(main);
    stopper.join();
    EXPECT_FALSE(went_on.load());
}

TEST(runtime, ends_on_every_loop_when_one_throws_and_throws_it_on) {
    runtime rt(with_loops(2));
    for (const unsigned guilty : {0u, 1u}) {
        const auto main = [guilty](loop& l) -> task<> {
            if (l.index() == guilty) throw std::runtime_error("loop " + std::to_string(guilty));
            co_await forever();
        };
        std::string caught;
        try {
            rt.run(main);
        } catch (const std::runtime_error& e) {
            caught = e.what();
        }
        EXPECT_EQ(caught, "loop " + std::to_string(guilty));
    }
}

TEST(runtime, ends_when_the_callable_throws_before_there_is_a_task) {
    runtime rt(with_loops(1));
    const auto breaks = [](loop& l) -> task<> {
        if (l.index() == 0) throw std::logic_error("no task");
        return [](int) -> task<> { co_return; }(1);
    };
    EXPECT_THROW(rt.run(breaks), std::logic_error);
}

TEST(runtime, ends_where_there_is_no_memory_for_a_loop_that_others_wait_for) {
    if (!coracle::testing::counts_allocations()) {
        GTEST_SKIP() << "allocations are not counted in this build";
    }
    for (std::size_t n = 1;; ++n) {
        runtime rt(with_loops(3));
        coracle::testing::fail_allocation(n);
        try {
            rt.run([&](loop& l) -> task<> {
                if (&l != &rt.at(1)) co_return;
                auto moved = on(rt.at(0), []() -> task<> { co_return; });
                co_await as_result(moved);
            });
        } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): it has ended
        }
        const bool was_enough = coracle::testing::allocation_will_fail();
        coracle::testing::fail_allocation(0);
        if (was_enough) break;
        ASSERT_LT(n, 200u);
    }
}

TEST(runtime, may_run_again) {
    runtime rt(with_loops(2));
    for (int round = 0; round != 3; ++round) {
        std::atomic<int> finished{0};
        const auto main = [&](loop&) -> task<> {
            co_await sleep_for(1us);
            ++finished;
        };
        rt.run(main);
        EXPECT_EQ(finished.load(), 2);
    }
}

TEST(runtime, may_run_again_after_a_stop) {
    runtime rt(with_loops(2));
    const auto stops = [&](loop&) -> task<> {
        rt.stop();
        co_await forever();
    };
    rt.run(stops);
    std::atomic<int> finished{0};
    const auto main = [&](loop&) -> task<> {
        co_await yield();
        ++finished;
    };
    rt.run(main);
    EXPECT_EQ(finished.load(), 2);
}

TEST(runtime, stopped_before_it_runs_stops_at_the_first_wait) {
    runtime rt(with_loops(1));
    rt.stop();
    bool went_on = false;
    const auto main = [&](loop&) -> task<> {
        co_await forever();
        went_on = true;
    };
    rt.run(main);
    EXPECT_FALSE(went_on);
}

TEST(runtime, refuses_what_is_posted_after_a_run_and_takes_it_in_the_next) {
    runtime rt(with_loops(2));
    std::atomic<int> early{0};
    for (std::size_t i = 0; i != 2; ++i) EXPECT_TRUE(rt.at(i).post([&] { ++early; }));
    const auto turns = [](loop&) -> task<> { co_await yield(); };
    rt.run(turns);
    EXPECT_EQ(early.load(), 2) << "what is posted before the first run waits for it";
    bool late = false;
    for (std::size_t i = 0; i != 2; ++i) EXPECT_FALSE(rt.at(i).post([&] { late = true; }));
    std::atomic<int> posted{0};
    const auto posts = [&](loop& l) -> task<> {
        // The thread of the other one may not have begun.
        if (rt.at(1 - l.index()).post([&] { ++posted; })) ++posted;
        while (posted.load() != 4) co_await yield();
    };
    rt.run(posts);
    EXPECT_EQ(posted.load(), 4);
    EXPECT_FALSE(late);
}

TEST(runtime, is_not_ended_by_a_stop_that_came_after_the_run_before) {
    runtime rt(with_loops(2));
    const auto nothing = [](loop&) -> task<> { co_return; };
    rt.run(nothing);
    rt.stop();
    std::atomic<int> finished{0};
    const auto main = [&](loop&) -> task<> {
        co_await yield();
        ++finished;
    };
    rt.run(main);
    EXPECT_EQ(finished.load(), 2);
}

TEST(runtime, stops_what_was_spawned_when_its_main_task_ends) {
    runtime rt(with_loops(2));
    std::atomic<int> unwound{0};
    struct counter {
        std::atomic<int>* n;
        ~counter() { ++*n; }
    };
    const auto main = [&](loop&) -> task<> {
        spawn([&unwound]() -> task<> {
            const counter c{&unwound};
            co_await forever();
        });
        co_return;
    };
    rt.run(main);
    EXPECT_EQ(unwound.load(), 2);
}

TEST(runtime, keeps_each_loop_going_until_the_main_tasks_of_all_have_ended) {
    runtime rt(with_loops(2));
    std::atomic<bool> first_ended{false};
    std::atomic<int> heard{0};
    event said;
    const auto main = [&](loop& l) -> task<> {
        if (l.index() == 0) {
            spawn([&]() -> task<> {
                co_await said.wait();
                ++heard;
                co_await forever();
            });
            first_ended = true;
            co_return;
        }
        while (!first_ended) co_await yield();
        // Long enough for a loop to end.
        co_await sleep_for(20ms);
        const auto say = [&]() -> task<> {
            said.set();
            co_return;
        };
        co_await on(rt.at(0), say);
        while (heard == 0) co_await yield();
    };
    rt.run(main);
    EXPECT_EQ(heard.load(), 1);
}

TEST(runtime, opens_a_loop_for_each_core_by_default_and_pins_when_asked) {
    const std::vector<int> all = cores();
    runtime_options o;
    o.pin = true;
    runtime rt(o);
    ASSERT_EQ(rt.loops(), all.size());
    std::vector<std::vector<int>> seen(all.size());
    const auto main = [&](loop& l) -> task<> {
        seen[l.index()] = cores();
        co_return;
    };
    rt.run(main);
    for (std::size_t i = 0; i != all.size(); ++i) EXPECT_EQ(seen[i], std::vector<int>{all[i]});
}

TEST(runtime, pins_its_loops_in_each_run_and_nothing_else) {
    const std::vector<int> all = cores();
    if (all.size() < 2) GTEST_SKIP() << "there is one core only";
    runtime_options o = with_loops(2);
    o.pin = true;
    runtime rt(o);
    for (int round = 0; round != 2; ++round) {
        std::vector<int> seen[2];
        std::vector<int> offloaded;
        const auto main = [&](loop& l) -> task<> {
            seen[l.index()] = cores();
            if (l.index() != 0) co_return;
            const auto where = [] { return cores(); };
            offloaded = co_await offload(where);
        };
        rt.run(main);
        EXPECT_EQ(seen[0], std::vector<int>{all[0]});
        EXPECT_EQ(seen[1], std::vector<int>{all[1]});
        EXPECT_EQ(offloaded, all);
        EXPECT_EQ(cores(), all) << "the caller's thread is pinned no more";
    }
}

TEST(runtime, tells_what_its_loops_do_to_other_threads) {
    runtime_options o;
    o.loops = 1;
    runtime rt(o);
    std::atomic<bool> over = false;
    std::thread asks([&] {
        while (!over) EXPECT_GE(rt.at(0).statistics().age, duration::zero());
    });
    rt.run([](loop&) -> task<> {
        for (int i = 0; i != 200; ++i) co_await sleep_for(std::chrono::microseconds(10));
    });
    over = true;
    asks.join();
}

TEST(block_on, gives_the_value_and_throws_the_exception) {
    EXPECT_EQ(*block_on([]() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); }),
              3);
    const auto fails = []() -> task<> {
        co_await yield();
        throw std::runtime_error("no");
    };
    EXPECT_THROW(block_on(fails), std::runtime_error);
    block_on([] { return sleep_for(1us); });
}

TEST(block_on, throws_when_the_callable_throws_before_there_is_a_task) {
    const auto breaks = []() -> task<> {
        if (loop::current() != nullptr) throw std::logic_error("no task");
        return [](int) -> task<> { co_return; }(1);
    };
    EXPECT_THROW(block_on(breaks), std::logic_error);
}

TEST(block_on, owns_its_callable) {
    const auto size = block_on([text = std::string(100, 'x')]() -> task<std::size_t> {
        co_await yield();
        co_return text.size();
    });
    EXPECT_EQ(size, 100u);
}

TEST(block_on, tells_when_its_loop_was_stopped) {
    const auto stops = []() -> task<> {
        loop::current()->stop();
        co_await forever();
    };
    try {
        block_on(stops);
        FAIL() << "it must throw";
    } catch (const exception& e) {
        EXPECT_TRUE(e.error() == std::errc::operation_canceled);
    }
}
