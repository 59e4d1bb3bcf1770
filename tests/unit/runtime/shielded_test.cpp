#include "support/virtual_time.hpp"

#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::run_virtually;

TEST(shielded, runs_on_although_the_task_has_been_cancelled) {
    std::string log;
    run_virtually([&]() -> task<> {
        const auto start = loop::current()->now();
        const auto closes = [&]() -> task<> {
            co_await as_result(forever());
            const auto goodbye = [&]() -> task<> {
                co_await sleep_for(10ms);
                log += "goodbye ";
                co_await sleep_for(10ms);
                log += "sent";
            };
            co_await shielded(1s, goodbye);
            log += ".";
            co_await yield();
            log += " went on";
        };
        auto r = co_await as_result(with_timeout(1s, closes));
        EXPECT_FALSE(r);
        EXPECT_EQ(loop::current()->now() - start, 1s + 20ms);
    });
    EXPECT_EQ(log, "goodbye sent.");
}

TEST(shielded, is_cut_at_its_limit) {
    bool finished = false;
    std::string seen;
    run_virtually([&]() -> task<> {
        const auto start = loop::current()->now();
        const auto closes = [&]() -> task<> {
            co_await as_result(forever());
            const auto endless = [&]() -> task<> {
                co_await forever();
                finished = true;
            };
            auto r = co_await as_result(shielded(300ms, endless));
            seen = r ? "value" : r.error().message();
        };
        co_await as_result(with_timeout(1s, closes));
        EXPECT_EQ(loop::current()->now() - start, 1s + 300ms);
    });
    EXPECT_FALSE(finished);
    EXPECT_NE(seen.find("timed out"), std::string::npos) << seen;
}

TEST(shielded, is_not_ended_by_a_cancellation_that_comes_meanwhile) {
    bool finished = false;
    run_virtually([&]() -> task<> {
        const auto work = [&]() -> task<> {
            const auto inner = [&]() -> task<> {
                co_await sleep_for(2s);
                finished = true;
            };
            co_await shielded(10s, inner);
        };
        co_await as_result(with_timeout(1s, work));
    });
    EXPECT_TRUE(finished);
}

TEST(shielded, gives_its_value_to_a_task_that_is_not_cancelled) {
    run_virtually([]() -> task<> {
        const auto give = []() -> task<int> {
            co_await yield();
            co_return 4;
        };
        EXPECT_EQ(co_await shielded(1s, give), 4);
    });
}

TEST(shielded, holds_up_the_end_of_the_loop_until_it_is_done) {
    bool finished = false;
    run_virtually([&]() -> task<> {
        const auto background = [&]() -> task<> {
            co_await as_result(forever());
            const auto clean = [] { return sleep_for(1s); };
            co_await shielded(5s, clean);
            finished = true;
        };
        spawn(background);
        co_return;
    });
    EXPECT_TRUE(finished);
}
