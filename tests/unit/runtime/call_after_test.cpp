#include "support/trace.hpp"
#include "support/virtual_time.hpp"

#include <coracle/runtime/call_after.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::run_virtually;
using coracle::testing::trace;

TEST(call_after, calls_when_the_time_has_passed) {
    run_virtually([]() -> task<> {
        const auto start = loop::current()->now();
        time_point called{};
        auto call = call_after(3s, [&] { called = loop::current()->now(); });
        EXPECT_TRUE(call.pending());
        co_await sleep_for(5s);
        EXPECT_EQ(called - start, 3s);
        EXPECT_FALSE(call.pending());
        call.cancel();
    });
}

TEST(call_after, is_not_called_inside_the_call_that_arms_it) {
    run_virtually([]() -> task<> {
        int calls = 0;
        auto now = call_after(0s, [&] { ++calls; });
        auto past = call_after(-1s, [&] { ++calls; });
        EXPECT_EQ(calls, 0);
        co_await sleep_for(1ns);
        EXPECT_EQ(calls, 2);
    });
}

TEST(call_after, calls_those_of_one_time_in_the_order_of_arming) {
    run_virtually([]() -> task<> {
        std::string log;
        std::vector<delayed_call> calls;
        for (char c = 'a'; c <= 'h'; ++c) {
            calls.push_back(call_after(c % 2 == 0 ? 2s : 1s, [&log, c] { log += c; }));
        }
        co_await sleep_for(3s);
        EXPECT_EQ(log, "acegbdfh");
    });
}

TEST(call_after, cancelled_destroys_the_function_at_once) {
    run_virtually([]() -> task<> {
        std::string log;
        auto call = call_after(1s, [t = trace(log, "destroyed"), &log] { log += "called"; });
        call.cancel();
        EXPECT_EQ(log, "destroyed");
        EXPECT_FALSE(call.pending());
        co_await sleep_for(2s);
        EXPECT_EQ(log, "destroyed");
    });
}

TEST(call_after, is_cancelled_with_its_handle) {
    run_virtually([]() -> task<> {
        int calls = 0;
        {
            auto gone = call_after(1s, [&] { ++calls; });
            auto moved = std::move(gone);
            EXPECT_TRUE(moved.pending());
            EXPECT_FALSE(gone.pending());  // NOLINT(bugprone-use-after-move)
        }
        auto replaced = call_after(1s, [&] { calls += 10; });
        replaced = call_after(1s, [&] { calls += 100; });
        call_after(1s, [&] { calls += 1000; }).detach();
        co_await sleep_for(2s);
        EXPECT_EQ(calls, 1100);
    });
}

TEST(call_after, may_be_cancelled_and_armed_again_inside_its_function) {
    run_virtually([]() -> task<> {
        std::vector<duration> at;
        const auto start = loop::current()->now();
        struct repeating {
            std::vector<duration>& at;
            time_point start;
            delayed_call call;
            void arm() {
                call = call_after(1s, [this] {
                    at.push_back(loop::current()->now() - start);
                    call.cancel();
                    if (at.size() != 3) arm();
                });
            }
        } again{at, start, {}};
        again.arm();
        co_await sleep_for(1min);
        EXPECT_EQ(at, (std::vector<duration>{1s, 2s, 3s}));
    });
}

TEST(call_after, owns_what_its_function_captures) {
    run_virtually([]() -> task<> {
        std::size_t size = 0;
        auto call = call_after(1s, [text = std::string(100, 'x'), p = std::make_unique<int>(1),
                                    &size] { size = text.size() + static_cast<std::size_t>(*p); });
        co_await sleep_for(2s);
        EXPECT_EQ(size, 101u);
    });
}

TEST(call_after, destroys_the_function_uncalled_when_the_loop_stops) {
    std::string log;
    delayed_call outlives;
    run_virtually([&]() -> task<> {
        outlives = call_after(1h, [t = trace(log, "destroyed"), &log] { log += "called"; });
        spawn([&]() -> task<> {
            co_await as_result(forever());
            call_after(1s, [t = trace(log, "late"), &log] { log += "called"; }).detach();
        });
        co_return;
    });
    EXPECT_EQ(log, "destroyed late");
    EXPECT_FALSE(outlives.pending());
}

TEST(call_after, logs_what_its_function_throws) {
    std::string out;
    logger log;
    log.set_sink([](void* user, log_level, log_layer,
                    std::string_view text) { *static_cast<std::string*>(user) += text; },
                 &out);
    log.set_level(log_level::error);
    runtime_options options;
    options.log = &log;
    const auto main = []() -> task<> {
        call_after(0s, [] { throw std::runtime_error("broken"); }).detach();
        co_await sleep_for(1ms);
    };
    block_on(main, options);
    EXPECT_EQ(out, "task call_after ended by an exception: std::runtime_error: broken");
}

TEST(call_after, arms_a_million_and_calls_those_that_are_left_in_order) {
    run_virtually([]() -> task<> {
        constexpr int count = 1'000'000;
        std::vector<delayed_call> calls;
        calls.reserve(count);
        int called = 0;
        bool in_order = true;
        int last = -1;
        for (int i = 0; i != count; ++i) {
            // A thousand have one due time.
            calls.push_back(call_after(1us * (i / 1000), [&, i] {
                in_order = in_order && last < i;
                last = i;
                ++called;
            }));
        }
        EXPECT_EQ(loop::current()->timers(), static_cast<std::size_t>(count));
        for (std::size_t i = 0; i != count; ++i) {
            if (i % 4 != 0) calls[i].cancel();
        }
        co_await sleep_for(1s);
        EXPECT_EQ(called, count / 4);
        EXPECT_TRUE(in_order);
        EXPECT_EQ(loop::current()->timers(), 0u);
    });
}
