// Tasks of the library that carry the calls of others: they stop when no other task is left.

#include "runtime/service.hpp"

#include "support/virtual_time.hpp"

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using coracle::detail::spawn_service;

/// Notes when it stops.
void serve(std::vector<std::string>& seen) {
    const auto serving = [&seen]() -> task<> {
        co_await as_result(forever());
        seen.emplace_back("service");
    };
    spawn_service(*loop::current(), serving, "service");
}

/// Needs that long after the end of the main task.
void clean_up_for(duration d, std::vector<std::string>& seen) {
    spawn([d, &seen]() -> task<> {
        co_await as_result(forever());
        const auto clean = [d] { return sleep_for(d); };
        co_await shielded(5s, clean);
        seen.emplace_back("clean-up");
    });
}

const std::vector<std::string> in_order{"main", "clean-up", "service"};

TEST(service, stops_after_the_clean_up_of_other_tasks) {
    std::vector<std::string> seen;
    run_virtually([&]() -> task<> {
        serve(seen);
        clean_up_for(1s, seen);
        seen.emplace_back("main");
        co_return;
    });
    EXPECT_EQ(seen, in_order);
}

TEST(service, stops_so_on_each_of_several_loops) {
    std::vector<std::string> seen;
    simulation_options o;
    o.loops = 2;
    simulation(o).run_on_all([&](loop& l) -> task<> {
        if (l.index() == 0) {
            serve(seen);
            seen.emplace_back("main");
        } else {
            clean_up_for(1s, seen);
        }
        co_return;
    });
    EXPECT_EQ(seen, in_order);
}

TEST(service, begins_after_the_end_of_the_main_task_and_carries_what_is_left) {
    std::vector<std::string> seen;
    run_virtually([&]() -> task<> {
        spawn([&seen]() -> task<> {
            co_await as_result(forever());
            event served;
            const auto serving = [&served]() -> task<> {
                co_await sleep_for(1s);
                served.set();
            };
            spawn_service(*loop::current(), serving, "service");
            const auto wait = [&served] { return served.wait(); };
            co_await shielded(5s, wait);
            seen.emplace_back("served");
        });
        co_return;
    });
    EXPECT_EQ(seen, std::vector<std::string>{"served"});
}

TEST(service, is_stopped_that_begins_when_they_stop) {
    bool ended = false;
    run_virtually([&]() -> task<> {
        const auto first = [&ended]() -> task<> {
            co_await as_result(forever());
            const auto second = [&ended]() -> task<> {
                co_await as_result(forever());
                ended = true;
            };
            spawn_service(*loop::current(), second, "second");
        };
        spawn_service(*loop::current(), first, "first");
        co_return;
    });
    EXPECT_TRUE(ended);
}

TEST(service, runs_again_in_the_next_run_of_its_loop) {
    const logger silent;
    loop l(std::make_unique<virtual_backend>(), silent);
    for (int run = 0; run != 2; ++run) {
        std::vector<std::string> seen;
        const auto work = [&]() -> task<> {
            serve(seen);
            clean_up_for(1s, seen);
            seen.emplace_back("main");
            co_return;
        };
        bool done = false;
        coracle::detail::blocking_child<void> main(done);
        l.reset();
        l.post([&] { main.begin(work(), l, &l.root(), "test").resume(); });
        l.run_until(done);
        EXPECT_EQ(seen, in_order);
    }
}

}  // namespace
}  // namespace coracle::testing
