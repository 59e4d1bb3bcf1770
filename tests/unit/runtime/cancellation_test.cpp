#include "support/trace.hpp"
#include "support/virtual_time.hpp"

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::run_virtually;
using coracle::testing::trace;

namespace {

task<> innermost(std::string& log) {
    const trace first(log, "3a");
    const trace second(log, "3b");
    co_await forever();
    log += " went on";
}

task<> middle(std::string& log) {
    const trace t(log, "2");
    co_await innermost(log);
    log += " went on";
}

task<> outermost(std::string& log) {
    const trace t(log, "1");
    co_await middle(log);
    log += " went on";
}

/// Runs `f()` and cancels it when it waits.
template <class F>
task<> cancelled_while_waiting(F f) {
    co_await as_result(with_timeout(1ms, f));
}

}  // namespace

TEST(cancellation, destroys_frames_innermost_first) {
    std::string log;
    run_virtually([&] { return cancelled_while_waiting([&] { return outermost(log); }); });
    EXPECT_EQ(log, "3b 3a 2 1");
}

TEST(cancellation, passes_operations_on_its_way_out) {
    std::string log;
    const auto inner = [&log]() -> task<std::expected<int, error>> {
        const trace t(log, "inner");
        co_await forever();
        co_return 1;
    };
    const auto outer = [&]() -> task<std::expected<int, error>> {
        const trace t(log, "outer");
        co_return co_await operation<int>(inner());
    };
    const auto whole = [&]() -> task<> {
        const trace t(log, "whole");
        co_await operation<int>(outer());
        log += " went on";
    };
    run_virtually([&] { return cancelled_while_waiting(whole); });
    EXPECT_EQ(log, "inner outer whole");
}

TEST(cancellation, does_not_throw_into_the_task) {
    std::string log;
    const auto waits = [&]() -> task<> {
        const trace t(log, "unwound");
        try {
            co_await sleep_for(1h);
            log += "went on ";
        } catch (...) {
            log += "caught ";
        }
    };
    run_virtually([&] { return cancelled_while_waiting(waits); });
    EXPECT_EQ(log, "unwound");
}

TEST(cancellation, is_sticky) {
    std::string log;
    const auto stubborn = [&]() -> task<> {
        const trace t(log, "unwound");
        auto first = co_await as_result(forever());
        log += first ? "gone" : "one";
        auto second = co_await as_result(sleep_for(1h));
        log += second ? " gone" : " two";
        co_await yield();
        log += "went on ";
    };
    run_virtually([&] { return cancelled_while_waiting(stubborn); });
    EXPECT_EQ(log, "one two unwound");
}

TEST(cancellation, lets_a_task_return_that_does_not_wait_again) {
    const int value = run_virtually([]() -> task<int> {
        const auto f = []() -> task<int> {
            co_await as_result(forever());
            co_return 5;
        };
        co_return co_await with_timeout(1ms, f);
    });
    EXPECT_EQ(value, 5);
}

TEST(cancellation, reaches_every_kind_of_wait) {
    std::string log;
    event never;
    const auto waits = [&]() -> task<> {
        const auto leaf = [&](auto operation, const char* word) -> task<> {
            const trace t(log, word);
            co_await std::move(operation);
        };
        co_await when_any(leaf(sleep_for(1h), "sleep"), leaf(never.wait(), "event"),
                          leaf(forever(), "forever"),
                          leaf(sleep_until(time_point::max()), "end_of_time"));
    };
    run_virtually([&] { return cancelled_while_waiting(waits); });
    for (const char* word : {"sleep", "event", "forever", "end_of_time"}) {
        EXPECT_NE(log.find(word), std::string::npos) << word;
    }
}

TEST(cancellation, stops_a_task_that_yields_for_ever) {
    int turns = 0;
    run_virtually([&]() -> task<> {
        const auto spin = [&]() -> task<> {
            for (;;) {
                ++turns;
                co_await yield();
            }
        };
        spawn(spin);
        co_await yield();
        co_await yield();
    });
    EXPECT_GE(turns, 2);
    EXPECT_LE(turns, 5);
}

TEST(cancellation, travels_down_a_deep_tree) {
    std::string log;
    struct nest {
        static task<> down(int n, std::string& log) {
            if (n == 0) {
                const trace t(log, "bottom");
                co_await forever();
            }
            const auto next = [&log, n] { return down(n - 1, log); };
            co_await with_timeout(1h, next);
        }
    };
    run_virtually([&] { return cancelled_while_waiting([&] { return nest::down(200, log); }); });
    EXPECT_EQ(log, "bottom");
}

TEST(cancellation, finds_a_task_that_was_woken_in_the_same_turn) {
    std::string log;
    event e;
    run_virtually([&]() -> task<> {
        const auto group = [&](task_group& g) -> task<> {
            const auto waits = [&]() -> task<> {
                const trace t(log, "unwound");
                co_await e.wait();
                log += "went on ";
            };
            g.spawn(waits);
            co_await yield();
            e.set();
            g.cancel();
        };
        co_await with_task_group(group);
    });
    EXPECT_EQ(log, "unwound");
}
