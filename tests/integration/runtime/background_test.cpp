#include "support/failing_calls.hpp"

#include <coracle/runtime/background.hpp>
#include <coracle/runtime/launch.hpp>
#include <coracle/runtime/offload.hpp>
#include <coracle/runtime/sleep.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::failing_calls;

namespace {

task<int> seven() {
    co_await yield();
    co_return 7;
}

task<> fails() {
    co_await yield();
    throw std::runtime_error("no luck");
}

}  // namespace

TEST(background, waits_and_gives_values_and_exceptions) {
    background bg;
    EXPECT_EQ(bg.wait(seven), 7);
    EXPECT_THROW(bg.wait(fails), std::runtime_error);
    bg.wait([] { return sleep_for(1us); });
    auto moved = bg.wait([p = std::make_unique<int>(3)]() -> task<std::unique_ptr<int>> {
        co_await yield();
        co_return std::make_unique<int>(*p + 1);
    });
    EXPECT_EQ(*moved, 4);
    EXPECT_THROW(bg.wait([]() -> task<> { throw std::logic_error("before there is a task"); }),
                 std::logic_error);
}

TEST(background, gives_futures) {
    background bg;
    auto value = bg.launch(seven);
    auto failure = bg.launch(fails);
    EXPECT_EQ(value.get(), 7);
    EXPECT_THROW(failure.get(), std::runtime_error);
    {
        auto dropped = bg.launch([] { return sleep_for(1ms); });
    }
}

TEST(background, calls_back_on_a_thread_of_its_own_before_the_call_is_done) {
    background bg;
    const auto here = std::this_thread::get_id();
    std::thread::id on_loop;
    std::thread::id on_thread;
    int got = 0;
    bg.start(seven, [&](std::expected<int, error> r) {
          got = r.value_or(0);
          on_thread = std::this_thread::get_id();
          EXPECT_EQ(loop::current(), nullptr);
      }).wait();
    EXPECT_EQ(got, 7);
    bg.start(
          seven,
          [&](std::expected<int, error>) {
              on_loop = std::this_thread::get_id();
              EXPECT_NE(loop::current(), nullptr);
          },
          callback_on::loop)
        .wait();
    EXPECT_NE(on_thread, here);
    EXPECT_NE(on_loop, here);
    EXPECT_NE(on_loop, on_thread);
}

TEST(background, tells_a_callback_what_went_wrong) {
    background bg;
    error told;
    bg.start(fails, [&](std::expected<void, error> r) { told = r.error(); }).wait();
    EXPECT_EQ(told, std::errc::state_not_recoverable);
    EXPECT_EQ(told.subject(), "no luck");
    const auto ours = []() -> task<> {
        throw_exception(error(std::errc::connection_refused, "connect"));
        co_return;
    };
    bg.start(ours, [&](std::expected<void, error> r) { told = r.error(); }).wait();
    EXPECT_EQ(told, std::errc::connection_refused);
}

TEST(background, cancels_a_call_and_calls_back_once) {
    background bg;
    std::atomic<int> calls{0};
    error told;
    const auto call = bg.start([] { return forever(); },
                               [&](std::expected<void, error> r) {
                                   ++calls;
                                   told = r.error();
                               });
    EXPECT_FALSE(call.done());
    call.cancel();
    call.cancel();
    call.wait();
    EXPECT_TRUE(call.done());
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(told, std::errc::operation_canceled);
}

TEST(background, owns_what_it_is_given_until_the_coroutine_has_ended) {
    background bg;
    auto held = std::make_shared<int>(5);
    int got = 0;
    bg.start(
          [held = std::shared_ptr<int>(held)]() -> task<int> {
              co_await sleep_for(1ms);
              co_return *held;
          },
          [&](std::expected<int, error> r) {
              got = *r;
              EXPECT_EQ(held.use_count(), 1) << "the callable is gone, this is the original";
          })
        .wait();
    EXPECT_EQ(got, 5);
}

TEST(background, drains_when_it_is_destroyed) {
    std::atomic<int> done{0};
    {
        background bg;
        for (int i = 0; i != 100; ++i) {
            bg.start([] { return sleep_for(1ms); },
                     [&](std::expected<void, error> r) { done += r ? 1 : 1'000; });
        }
    }
    EXPECT_EQ(done, 100);
}

TEST(background, cancels_what_does_not_end_in_time_and_says_so) {
    std::atomic<int> cancelled{0};
    background bg;
    const auto hears = [&](std::expected<void, error> r) {
        if (!r && r.error() == std::errc::operation_canceled) ++cancelled;
    };
    for (int i = 0; i != 10; ++i) bg.start([] { return forever(); }, hears);
    EXPECT_TRUE(bg.stop(1ms));
    EXPECT_EQ(cancelled, 10);
    EXPECT_EQ(bg.active(), 0U);
    EXPECT_FALSE(bg.stop(1ms));
    EXPECT_THROW(bg.start(seven), exception);
    EXPECT_THROW(bg.wait(seven), exception);
}

TEST(background, need_not_force_what_ends_by_itself) {
    background bg;
    auto call = bg.start(seven);
    EXPECT_FALSE(bg.stop(10s));
    EXPECT_TRUE(call.done());
}

TEST(background, bounds_the_calls_under_way) {
    background bg({.active = 2});
    auto one = bg.start([] { return forever(); });
    auto two = bg.start([] { return forever(); });
    try {
        bg.start(seven);
        ADD_FAILURE() << "a third was taken";
    } catch (const exception& e) {
        EXPECT_EQ(e.error(), errc::limit_exceeded);
    }
    EXPECT_EQ(bg.active(), 2U);
    EXPECT_EQ(bg.peak(), 2U);
    one.cancel();
    two.cancel();
}

TEST(background, counts_callbacks_that_throw_and_goes_on) {
    background bg;
    for (const auto where : {callback_on::callback_thread, callback_on::loop}) {
        bg.start(
              seven, [](std::expected<int, error>) { throw std::runtime_error("mine"); }, where)
            .wait();
    }
    EXPECT_EQ(bg.failed_callbacks(), 2U);
    EXPECT_EQ(bg.wait(seven), 7);
}

TEST(background, lets_a_callback_start_the_next_call) {
    background bg;
    std::atomic<int> left{50};
    thread_local int depth = 0;
    struct chain {
        background& bg;
        std::atomic<int>& left;
        void operator()(std::expected<int, error>) const {
            EXPECT_EQ(depth, 0) << "never inside the one before";
            ++depth;
            if (--left > 0) bg.start(seven, *this);
            --depth;
        }
    };
    bg.start(seven, chain{bg, left});
    while (left > 0) std::this_thread::yield();
    EXPECT_FALSE(bg.stop(10s));
    EXPECT_EQ(left, 0);
}

TEST(background, takes_calls_from_many_threads_on_several_loops) {
    constexpr int each = 300;
    std::atomic<int> sum{0};
    std::atomic<int> cancelled{0};
    {
        background bg({.loops = 2, .callback_threads = 2});
        std::vector<std::thread> threads;
        for (int t = 0; t != 3; ++t) {
            threads.emplace_back([&, t] {
                for (int i = 0; i != each; ++i) {
                    const auto hears = [&](std::expected<int, error> r) {
                        if (r)
                            sum += *r;
                        else
                            ++cancelled;
                    };
                    auto call =
                        bg.start(seven, hears,
                                 i % 2 == 0 ? callback_on::loop : callback_on::callback_thread);
                    if (i % 3 == t) call.cancel();
                    if (i % 50 == 0) {
                        EXPECT_EQ(bg.wait(seven), 7);
                    }
                }
            });
        }
        for (auto& t : threads) t.join();
    }
    EXPECT_EQ(sum / 7 + cancelled, 3 * each);
}

TEST(background, refuses_work_for_a_loop_that_its_work_has_stopped) {
    background bg({.loops = 2});
    const auto stops = []() -> task<> {
        loop::current()->stop();
        co_await forever();
    };
    EXPECT_THROW(bg.wait(stops), exception);
    EXPECT_EQ(bg.wait(seven), 7) << "the other loop goes on";
    // The thread of the first may not have left it yet; either way nothing hangs.
    EXPECT_THROW(bg.wait(seven), exception);
    EXPECT_THROW(bg.wait(stops), exception);
    for (int i = 0; i != 4; ++i) EXPECT_THROW(bg.wait(seven), exception);
    EXPECT_FALSE(bg.stop(10s)) << "nothing is under way";
}

TEST(background, throws_when_one_of_its_threads_cannot_be_started) {
    if (!failing_calls::available()) GTEST_SKIP() << "calls are not replaced in this build";
    // To open a ring takes threads of its own.
    const background_options o{.loops = 3, .backend = backend_kind::epoll};
    for (unsigned at = 1; at != 4; ++at) {
        const failing_calls fails("pthread_create", EAGAIN, at, true);
        EXPECT_THROW(background bg(o), std::system_error) << "thread " << at;
        EXPECT_TRUE(fails.happened());
    }
    background bg(o);
    EXPECT_EQ(bg.wait(seven), 7);
}

TEST(background, may_offload) {
    background bg;
    const auto where = [] { return std::this_thread::get_id(); };
    const auto id = bg.wait([&] { return offload(where); });
    EXPECT_NE(id, std::this_thread::get_id());
}
