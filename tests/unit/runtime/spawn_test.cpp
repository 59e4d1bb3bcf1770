#include "support/trace.hpp"
#include "support/virtual_time.hpp"

#include <coracle/runtime/spawn.hpp>
#include <coracle/runtime/task_group.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::run_virtually;
using coracle::testing::trace;

TEST(spawn, starts_at_once_and_runs_until_the_first_wait) {
    std::string log;
    run_virtually([&]() -> task<> {
        spawn([&log]() -> task<> {
            log += "a";
            co_await yield();
            log += "c";
        });
        log += "b";
        co_await yield();
        co_await yield();
        log += "d";
    });
    EXPECT_EQ(log, "abcd");
}

TEST(spawn, owns_its_lambda_until_the_task_has_ended) {
    std::size_t size = 0;
    run_virtually([&]() -> task<> {
        spawn([text = std::string(100, 'x'), &size]() -> task<> {
            co_await sleep_for(1ms);
            size = text.size();
        });
        co_await sleep_for(2ms);
    });
    EXPECT_EQ(size, 100u);
}

TEST(spawn, takes_a_lambda_that_can_only_be_moved) {
    int value = 0;
    run_virtually([&]() -> task<> {
        auto p = std::make_unique<int>(5);
        spawn([p = std::move(p), &value]() -> task<> {
            co_await yield();
            value = *p;
        });
        co_await sleep_for(1ms);
    });
    EXPECT_EQ(value, 5);
}

TEST(spawn, destroys_the_lambda_when_the_task_has_ended) {
    std::string log;
    run_virtually([&]() -> task<> {
        spawn([t = trace(log, "capture")]() -> task<> { co_await yield(); });
        EXPECT_EQ(log, "");
        co_await sleep_for(1ms);
        EXPECT_EQ(log, "capture");
    });
}

TEST(spawn, takes_a_callable_that_gives_an_operation) {
    run_virtually([]() -> task<> {
        spawn([] { return sleep_for(1ms); });
        co_await sleep_for(2ms);
    });
}

TEST(spawn, is_stopped_and_awaited_when_the_loop_ends) {
    std::string log;
    run_virtually([&]() -> task<> {
        spawn([&log]() -> task<> {
            const trace t(log, "unwound");
            co_await forever();
            log += "went on";
        });
        co_return;
    });
    EXPECT_EQ(log, "unwound");
}

TEST(spawn, may_spawn_while_the_loop_ends) {
    std::string log;
    run_virtually([&]() -> task<> {
        spawn([&log]() -> task<> {
            co_await as_result(forever());
            spawn([&log]() -> task<> {
                const trace t(log, "late");
                co_await forever();
                log += "went on";
            });
        });
        co_return;
    });
    EXPECT_EQ(log, "late");
}

TEST(spawn, logs_an_exception_with_the_name_of_the_task) {
    std::string out;
    logger log;
    log.set_sink(
        [](void* user, log_level, log_layer, std::string_view text) {
            *static_cast<std::string*>(user) += std::string(text) + '\n';
        },
        &out);
    log.set_level(log_level::error);
    runtime_options options;
    options.log = &log;
    const auto main = []() -> task<> {
        spawn(
            []() -> task<> {
                throw std::runtime_error("broken");
                co_return;
            },
            "mailer");
        spawn([]() -> task<> {
            co_await yield();
            throw 5;
        });
        co_await yield();
        co_await yield();
    };
    block_on(main, options);
    EXPECT_EQ(out,
              "task mailer ended by an exception: std::runtime_error: broken\n"
              "task spawned ended by an exception: int\n");
}

TEST(spawn, leaves_nothing_behind_when_its_callable_throws_before_there_is_a_task) {
    std::string log;
    run_virtually([&]() -> task<> {
        auto breaks = [t = std::make_unique<trace>(log, "capture")]() -> task<> {
            if (t != nullptr) throw std::logic_error("no task");
            return [](int) -> task<> { co_return; }(1);
        };
        bool caught = false;
        try {
            spawn(std::move(breaks));
        } catch (const std::logic_error&) {
            caught = true;
        }
        EXPECT_TRUE(caught);
        EXPECT_EQ(log, "capture");
        co_return;
    });
}

namespace {

task<> chain(int depth, int& started) {
    ++started;
    if (depth != 0) spawn([depth, &started] { return chain(depth - 1, started); });
    co_return;
}

}  // namespace

TEST(spawn, nests_no_deeper_on_the_stack_than_a_bound) {
    run_virtually([]() -> task<> {
        int started = 0;
        spawn([&] { return chain(10, started); });
        EXPECT_EQ(started, 11) << "short chains start at once";
        started = 0;
        spawn([&] { return chain(200'000, started); });
        EXPECT_LT(started, 100);
        while (started != 200'001) co_await yield();
    });
}

TEST(spawn, in_a_group_nests_no_deeper_either) {
    run_virtually([]() -> task<> {
        struct deep {
            static task<> go(task_group& g, int depth, int& ended) {
                if (depth != 0) g.spawn([&g, depth, &ended] { return go(g, depth - 1, ended); });
                ++ended;
                co_return;
            }
        };
        int ended = 0;
        const auto block = [&](task_group& g) -> task<> {
            g.spawn([&] { return deep::go(g, 100'000, ended); });
            co_return;
        };
        co_await with_task_group(block);
        EXPECT_EQ(ended, 100'001);
    });
}

TEST(spawn, cancelled_before_a_deep_chain_has_started_ends_it) {
    int started = 0;
    run_virtually([&]() -> task<> {
        spawn([&] { return chain(1000, started); });
        co_return;
    });
    EXPECT_EQ(started, 1001) << "a task runs until its first wait, also when it is cancelled";
}
