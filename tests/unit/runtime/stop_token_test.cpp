#include "support/virtual_time.hpp"

#include <coracle/runtime/stop_token.hpp>
#include <coracle/runtime/when_all.hpp>

#include <gtest/gtest.h>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

TEST(stop_token, cancels_what_runs_with_it) {
    run_virtually([]() -> task<> {
        std::stop_source stop;
        const auto requests = [&]() -> task<> {
            co_await sleep_for(1s);
            stop.request_stop();
        };
        const auto waits = [&]() -> task<> {
            auto r = co_await as_result(with_stop_token(stop.get_token(), forever()));
            EXPECT_TRUE(!r && r.error() == std::errc::operation_canceled);
        };
        co_await when_all(waits(), requests());
    });
}

TEST(stop_token, that_was_stopped_before_cancels_from_the_start) {
    run_virtually([]() -> task<> {
        std::stop_source stop;
        stop.request_stop();
        auto r = co_await as_result(with_stop_token(stop.get_token(), forever()));
        EXPECT_FALSE(r);
    });
}

TEST(stop_token, lets_through_what_ends_in_time) {
    run_virtually([]() -> task<> {
        std::stop_source stop;
        const auto gives = []() -> task<int> {
            co_await sleep_for(1s);
            co_return 3;
        };
        EXPECT_EQ(co_await with_stop_token(stop.get_token(), gives), 3);
        stop.request_stop();
    });
}

TEST(stop_token, owns_the_callable_that_it_is_given) {
    run_virtually([]() -> task<> {
        auto held = std::make_shared<int>(4);
        const std::weak_ptr<int> watched = held;
        const auto works = [held = std::move(held)]() -> task<int> {
            co_await yield();
            co_return *held;
        };
        EXPECT_EQ(co_await with_stop_token(std::stop_token(), works), 4);
        EXPECT_EQ(watched.use_count(), 1);
    });
}

TEST(task_stop_source, is_stopped_when_its_task_is_cancelled) {
    run_virtually([]() -> task<> {
        std::stop_token token;
        int heard = 0;
        const auto works = [&]() -> task<> {
            const task_stop_source stop = co_await task_stop_source::here();
            token = stop.token();
            const std::stop_callback hears(token, [&] { ++heard; });
            EXPECT_FALSE(token.stop_requested());
            co_await forever();
        };
        auto r = co_await as_result(with_timeout(1s, works));
        EXPECT_FALSE(r);
        EXPECT_TRUE(token.stop_requested());
        EXPECT_EQ(heard, 1);
    });
}

TEST(task_stop_source, of_a_cancelled_task_is_stopped_already) {
    run_virtually([]() -> task<> {
        bool stopped = false;
        const auto works = [&]() -> task<> {
            auto r = co_await as_result(forever());
            EXPECT_FALSE(r);
            const task_stop_source stop = co_await task_stop_source::here();
            stopped = stop.token().stop_requested();
        };
        co_await as_result(with_timeout(1s, works));
        EXPECT_TRUE(stopped);
    });
}

TEST(task_stop_source, of_a_task_that_ends_is_not_stopped) {
    run_virtually([]() -> task<> {
        std::stop_token token;
        const auto works = [&]() -> task<> {
            const task_stop_source stop = co_await task_stop_source::here();
            token = stop.token();
        };
        co_await with_timeout(1s, works);
        EXPECT_FALSE(token.stop_requested());
    });
}
