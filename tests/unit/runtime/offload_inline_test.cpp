#include "support/virtual_time.hpp"

#include <coracle/runtime/offload.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

using namespace coracle;
using namespace coracle::testing;

TEST(offload_without_a_pool, runs_on_the_loop_and_carries_what_comes_of_it) {
    run_virtually([]() -> task<> {
        EXPECT_EQ(loop::current()->offload_pool(), nullptr);
        const auto here = [] { return loop::current(); };
        EXPECT_EQ(co_await offload(here), loop::current());
        const auto throws = [](std::stop_token) { throw std::runtime_error("no"); };
        EXPECT_THROW(co_await offload(throws), std::runtime_error);
    });
}

TEST(offload_without_a_pool, still_lets_other_tasks_run_now_and_then) {
    run_virtually([]() -> task<> {
        const auto nothing = [] {};
        const auto turns = loop::current()->turns();
        for (int i = 0; i != 10'000; ++i) co_await offload(nothing);
        EXPECT_GT(loop::current()->turns(), turns + 100);
    });
}
