#include "support/virtual_time.hpp"

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/task_dump.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::run_virtually;

namespace {

task<> wait_for(event& e) {
    co_await e.wait();
}

/// Waits at the bottom of so many nested tasks.
task<> wait_below(event& e, int levels) {
    if (levels == 0) {
        co_await e.wait();
        co_return;
    }
    auto inner = with_timeout(1h, wait_below(e, levels - 1));
    co_await std::move(inner);
}

}  // namespace

TEST(task_dump, tells_what_each_task_waits_for_and_how_long) {
    run_virtually([]() -> task<> {
        event done;
        spawn([&] { return wait_for(done); }, "waiter");
        co_await sleep_for(1500ms);
        const std::string text = dump_tasks(*loop::current());
        EXPECT_NE(text.find("  waiter: waits for event, 1.5 s\n"), std::string::npos) << text;
        EXPECT_NE(text.find("2 tasks"), std::string::npos) << text;
        done.set();
    });
}

TEST(task_dump, puts_a_task_beneath_the_one_that_started_it) {
    run_virtually([]() -> task<> {
        event done;
        auto block = [&](task_group& group) -> task<> {
            group.spawn([&] { return wait_for(done); }, "inner");
            co_await done.wait();
        };
        auto whole = [&]() -> task<> { co_await with_task_group(block); };
        spawn(whole, "outer");
        co_await sleep_for(1ms);
        const std::string text = dump_tasks(*loop::current());
        const std::size_t outer = text.find("\n  outer: waits for the tasks below\n");
        const std::size_t inner = text.find("      inner: waits for event");
        EXPECT_NE(outer, std::string::npos) << text;
        EXPECT_NE(inner, std::string::npos) << text;
        EXPECT_LT(outer, inner);
        done.set();
    });
}

TEST(task_dump, has_room_for_tasks_that_are_nested_deeply) {
    constexpr int deep = 20'000;
    run_virtually([]() -> task<> {
        event done;
        spawn([&] { return wait_below(done, deep); }, "deep");
        co_await sleep_for(1ms);
        const std::string text = dump_tasks(*loop::current());
        EXPECT_NE(text.find("(level " + std::to_string(deep) + ")"), std::string::npos)
            << text.substr(0, 2000);
        EXPECT_LT(text.size(), std::size_t{deep} * 300);
        done.set();
    });
}

TEST(task_dump, tells_who_was_asked_to_stop) {
    run_virtually([]() -> task<> {
        event done;
        auto clean_up = [&]() -> task<> { co_await done.wait(); };
        auto stubborn = [&]() -> task<> { co_await as_result(shielded(10s, clean_up)); };
        auto parent = [&]() -> task<> { co_await as_result(with_timeout(1ms, stubborn)); };
        spawn(parent, "parent");
        co_await sleep_for(1s);
        const std::string text = dump_tasks(*loop::current());
        EXPECT_NE(text.find("(asked to stop)"), std::string::npos) << text;
        done.set();
    });
}

TEST(task_dump, of_an_idle_loop_has_no_task_but_the_one_that_asks) {
    run_virtually([]() -> task<> {
        EXPECT_NE(dump_tasks(*loop::current()).find("1 task, 0 timers"), std::string::npos);
        co_return;
    });
}
