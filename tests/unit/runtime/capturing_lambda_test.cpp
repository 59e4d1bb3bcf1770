#include "support/virtual_time.hpp"

#include <coracle/runtime/call_after.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/on.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <string>

// Every function that takes a callable is given a lambda that is a coroutine, and whose captures
// own memory; the caller's own is gone before the coroutine is resumed. AddressSanitizer sees what
// is used too late, or destroyed twice.

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::run_virtually;

namespace {

/// A callable that gives a coroutine which uses its captures after a wait.
auto uses_captures(std::size_t& sum) {
    return [text = std::string(100, 'x'), more = std::string(50, 'y'), &sum]() -> task<> {
        sum += text.size();
        co_await sleep_for(1ms);
        sum += more.size();
        co_await yield();
        sum += text.size() + more.size();
    };
}
constexpr std::size_t all = 300;

/// Gives what `make` gives of a callable that is gone before it is awaited.
template <class Make>
auto made_of_a_temporary(std::size_t& sum, Make make) {
    return make(uses_captures(sum));
}

}  // namespace

TEST(a_capturing_lambda, is_safe_in_spawn) {
    run_virtually([]() -> task<> {
        std::size_t sum = 0;
        spawn(uses_captures(sum));
        co_await sleep_for(5ms);
        EXPECT_EQ(sum, all);
    });
}

TEST(a_capturing_lambda, is_safe_in_spawn_on) {
    run_virtually([]() -> task<> {
        std::size_t sum = 0;
        EXPECT_TRUE(spawn_on(*loop::current(), uses_captures(sum)));
        co_await yield();
        co_await yield();
        co_await sleep_for(5ms);
        EXPECT_EQ(sum, all);
    });
}

TEST(a_capturing_lambda, is_safe_in_with_timeout) {
    run_virtually([]() -> task<> {
        std::size_t sum = 0;
        auto op = made_of_a_temporary(sum, [](const auto& f) { return with_timeout(1s, f); });
        co_await std::move(op);
        EXPECT_EQ(sum, all);
        auto late = made_of_a_temporary(sum, [](const auto& f) { return with_timeout(1us, f); });
        EXPECT_FALSE(co_await as_result(std::move(late)));
    });
}

TEST(a_capturing_lambda, is_safe_in_with_deadline) {
    run_virtually([]() -> task<> {
        std::size_t sum = 0;
        const auto due = loop::current()->now() + 1s;
        auto op = made_of_a_temporary(sum, [&](const auto& f) { return with_deadline(due, f); });
        co_await std::move(op);
        EXPECT_EQ(sum, all);
    });
}

TEST(a_capturing_lambda, is_safe_in_shielded) {
    run_virtually([]() -> task<> {
        std::size_t sum = 0;
        auto op = made_of_a_temporary(sum, [](const auto& f) { return shielded(1s, f); });
        co_await std::move(op);
        EXPECT_EQ(sum, all);
    });
}

TEST(a_capturing_lambda, is_safe_in_task_groups) {
    run_virtually([]() -> task<> {
        std::size_t sum = 0;
        const auto make = [&sum] {
            const auto block = [text = std::string(100, 'x'), &sum](task_group& g) -> task<> {
                g.spawn(uses_captures(sum));
                EXPECT_TRUE(g.try_spawn(uses_captures(sum)));
                auto named = uses_captures(sum);
                co_await g.spawn_when_free(named);
                co_await yield();
                sum += text.size();
            };
            return with_task_group(2, block);
        };
        auto op = make();
        co_await std::move(op);
        EXPECT_EQ(sum, 3 * all + 100);
    });
}

TEST(a_capturing_lambda, is_safe_in_on) {
    run_virtually([]() -> task<> {
        std::size_t sum = 0;
        loop& here = *loop::current();
        auto op = made_of_a_temporary(sum, [&](const auto& f) { return on(here, f); });
        co_await std::move(op);
        EXPECT_EQ(sum, all);
    });
}

TEST(a_capturing_lambda, is_safe_in_call_after_and_post) {
    run_virtually([]() -> task<> {
        std::size_t sum = 0;
        call_after(1ms, [text = std::string(100, 'x'), &sum] { sum += text.size(); }).detach();
        loop::current()->post([text = std::string(100, 'x'), &sum] { sum += text.size(); });
        co_await yield();
        co_await sleep_for(2ms);
        EXPECT_EQ(sum, 200u);
    });
}

TEST(a_capturing_lambda, is_safe_in_block_on_and_run) {
    std::size_t sum = 0;
    block_on(uses_captures(sum));
    EXPECT_EQ(sum, all);
    runtime_options options;
    options.loops = 1;
    runtime rt(options);
    rt.run([text = std::string(100, 'x'), &sum](loop&) -> task<> {
        co_await yield();
        sum += text.size();
    });
    EXPECT_EQ(sum, all + 100);
}
