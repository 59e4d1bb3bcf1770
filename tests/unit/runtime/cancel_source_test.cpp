#include "support/trace.hpp"
#include "support/virtual_time.hpp"

#include <coracle/runtime/cancel_source.hpp>
#include <coracle/runtime/when_all.hpp>

#include <gtest/gtest.h>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

TEST(cancel_source, ends_what_runs_with_it_and_leaves_its_awaiter_alone) {
    run_virtually([]() -> task<> {
        const cancel_source source;
        const auto cancels = [&]() -> task<> {
            co_await sleep_for(1s);
            source.cancel();
        };
        const auto waits = [&]() -> task<> {
            auto r = co_await as_result(with_cancel(source, forever()));
            EXPECT_TRUE(!r && r.error() == std::errc::operation_canceled);
            co_await sleep_for(1s);
        };
        const time_point began = loop::current()->now();
        co_await when_all(waits(), cancels());
        EXPECT_EQ(loop::current()->now() - began, 2s);
    });
}

TEST(cancel_source, throws_when_the_operation_is_awaited_plainly) {
    run_virtually([]() -> task<> {
        const cancel_source source;
        source.cancel();
        EXPECT_TRUE(source.cancelled());
        bool thrown = false;
        try {
            co_await with_cancel(source, forever());
        } catch (const exception& e) {
            thrown = e.error() == std::errc::operation_canceled;
        }
        EXPECT_TRUE(thrown);
    });
}

TEST(cancel_source, does_nothing_to_what_has_ended) {
    run_virtually([]() -> task<> {
        const cancel_source source;
        const auto gives = []() -> task<int> {
            co_await sleep_for(1s);
            co_return 5;
        };
        EXPECT_EQ(co_await with_cancel(source, gives), 5);
        source.cancel();
        co_await sleep_for(1s);
    });
}

TEST(cancel_source, reaches_all_that_run_with_a_copy_of_it) {
    run_virtually([]() -> task<> {
        const cancel_source source;
        int ended = 0;
        const auto waits = [&](cancel_source mine) -> task<> {
            auto r = co_await as_result(with_cancel(mine, forever()));
            EXPECT_FALSE(r);
            ++ended;
        };
        const auto cancels = [&]() -> task<> {
            source.cancel();
            source.cancel();
            EXPECT_EQ(ended, 0) << "nothing ends inside the call";
            co_return;
        };
        co_await when_all(waits(source), waits(source), waits(source), cancels());
        EXPECT_EQ(ended, 3);
    });
}

TEST(cancel_source, hands_on_the_cancellation_of_its_awaiter) {
    run_virtually([]() -> task<> {
        std::string log;
        const cancel_source source;
        const auto waits = [&]() -> task<> {
            const trace t(log, "inner");
            co_await forever();
        };
        const auto outer = [&]() -> task<> {
            const trace t(log, "outer");
            co_await with_cancel(source, waits);
        };
        auto r = co_await as_result(with_timeout(1s, outer));
        EXPECT_TRUE(!r && r.error() == std::errc::timed_out);
        EXPECT_EQ(log, "inner outer");
        source.cancel();
    });
}

TEST(cancel_source, that_a_task_cancels_from_inside_ends_it_at_its_next_wait) {
    run_virtually([]() -> task<> {
        const cancel_source source;
        bool after = false;
        const auto cancels_itself = [&]() -> task<> {
            source.cancel();
            co_await yield();
            after = true;
        };
        auto r = co_await as_result(with_cancel(source, cancels_itself));
        EXPECT_FALSE(r);
        EXPECT_FALSE(after);
    });
}
