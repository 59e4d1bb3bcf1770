#include "support/virtual_time.hpp"

#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/this_task.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::run_virtually;

TEST(with_deadline, gives_what_is_in_time) {
    run_virtually([]() -> task<> {
        const auto due = loop::current()->now() + 1s;
        const auto quick = []() -> task<int> {
            co_await sleep_for(999ms);
            co_return 5;
        };
        EXPECT_EQ(co_await with_deadline(due, quick), 5);
    });
}

TEST(with_deadline, cancels_what_is_late_and_says_timed_out) {
    run_virtually([]() -> task<> {
        const auto due = loop::current()->now() + 1s;
        auto r = co_await as_result(with_deadline(due, forever()));
        EXPECT_FALSE(r);
        EXPECT_TRUE(r.error() == std::errc::timed_out);
        EXPECT_EQ(r.error().operation(), "with_deadline");
        EXPECT_EQ(loop::current()->now(), due);
        bool caught = false;
        try {
            co_await with_deadline(due, forever());  // it has passed
        } catch (const exception& e) {
            caught = e.error() == std::errc::timed_out;
        }
        EXPECT_TRUE(caught);
        EXPECT_EQ(loop::current()->now(), due);
    });
}

TEST(with_deadline, may_be_the_end_of_time) {
    run_virtually([]() -> task<> { co_await with_deadline(time_point::max(), sleep_for(1h)); });
}

TEST(with_deadline, of_several_the_nearest_strikes) {
    run_virtually([]() -> task<> {
        const auto start = loop::current()->now();
        std::string log;
        const auto inner = [&]() -> task<> {
            auto r = co_await as_result(with_deadline(start + 5s, forever()));
            log += r ? "?" : r.error().message();
        };
        auto outer = co_await as_result(with_deadline(start + 2s, inner));
        EXPECT_TRUE(outer) << "the inner one took it as a result";
        EXPECT_EQ(log, "with_deadline: Operation canceled");
        EXPECT_EQ(loop::current()->now() - start, 2s);

        const auto nearer = [&]() -> task<> {
            auto r = co_await as_result(with_deadline(start + 3s, forever()));
            EXPECT_TRUE(r.error() == std::errc::timed_out);
        };
        EXPECT_TRUE(co_await as_result(with_deadline(start + 9s, nearer)));
        EXPECT_EQ(loop::current()->now() - start, 3s);
    });
}

TEST(deadline_of_a_task, is_the_nearest_around_it) {
    run_virtually([]() -> task<> {
        const auto start = loop::current()->now();
        EXPECT_EQ(co_await this_task::deadline(), time_point::max());
        const auto innermost = [&]() -> task<> {
            EXPECT_EQ(co_await this_task::deadline(), start + 1s);
        };
        const auto inner = [&]() -> task<> {
            EXPECT_EQ(co_await this_task::deadline(), start + 2s);
            co_await with_timeout(1s, innermost);
            EXPECT_EQ(co_await this_task::deadline(), start + 2s);
        };
        const auto outer = [&]() -> task<> {
            EXPECT_EQ(co_await this_task::deadline(), start + 2s);
            co_await with_timeout(10s, inner);  // the outer one stays the nearest
        };
        co_await with_deadline(start + 2s, outer);
        EXPECT_EQ(co_await this_task::deadline(), time_point::max());
    });
}

namespace {

task<> expect_deadline(time_point t) {
    EXPECT_EQ(co_await this_task::deadline(), t);
}

task<std::expected<void, error>> expect_as_operation(time_point t) {
    EXPECT_EQ(co_await this_task::deadline(), t);
    co_return std::expected<void, error>();
}

}  // namespace

TEST(deadline_of_a_task, is_seen_through_every_scope) {
    run_virtually([]() -> task<> {
        const auto due = loop::current()->now() + 1s;
        const auto whole = [&]() -> task<> {
            co_await as_result(expect_deadline(due));
            co_await operation<>(expect_as_operation(due));
            co_await as_result(operation<>(expect_as_operation(due)));
            co_await when_all(expect_deadline(due), expect_deadline(due));
            const auto block = [&](task_group& g) -> task<> {
                co_await expect_deadline(due);
                g.spawn([&] { return expect_deadline(due); });
            };
            co_await with_task_group(block);
        };
        co_await with_deadline(due, whole);
    });
}

TEST(deadline_of_a_task, does_not_reach_what_is_shielded_or_spawned) {
    run_virtually([]() -> task<> {
        const auto start = loop::current()->now();
        const auto own = [&] { return expect_deadline(start + 5s); };
        const auto whole = [&]() -> task<> {
            co_await shielded(5s, own);
            spawn([] { return expect_deadline(time_point::max()); });
        };
        co_await with_deadline(start + 1s, whole);
    });
}
