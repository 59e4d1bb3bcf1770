#include "support/failing_calls.hpp"

#include <coracle/fs/file.hpp>
#include <coracle/runtime/futex.hpp>
#include <coracle/runtime/offload.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::failing_calls;

TEST(offload, runs_work_on_another_thread_and_comes_back) {
    const auto main = []() -> task<> {
        const auto here = std::this_thread::get_id();
        const auto where = [] { return std::this_thread::get_id(); };
        const auto there = co_await offload(where);
        EXPECT_NE(here, there);
        EXPECT_EQ(here, std::this_thread::get_id());
    };
    block_on(main);
}

TEST(thread_pool, does_at_its_end_what_its_last_jobs_have_posted) {
    for (int round = 0; round != 50; ++round) {
        std::atomic<int> done = 0;
        {
            thread_pool pool({.threads = 8});
            for (int i = 0; i != 8; ++i) {
                EXPECT_TRUE(pool.try_post([&] {
                    for (int j = 0; j != 4; ++j) EXPECT_TRUE(pool.try_post([&] { ++done; }));
                }));
            }
        }
        EXPECT_EQ(done, 32);
    }
}

TEST(offload, carries_values_that_can_only_be_moved_and_exceptions) {
    const auto main = []() -> task<> {
        const auto makes = [] { return std::make_unique<int>(4); };
        EXPECT_EQ(*co_await offload(makes), 4);
        const auto throws = [] { throw std::runtime_error("no"); };
        EXPECT_THROW(co_await offload(throws), std::runtime_error);
        const auto fails = [] { throw_exception(error(std::errc::no_such_file_or_directory)); };
        auto r = co_await as_result(offload(fails));
        EXPECT_TRUE(!r && r.error() == std::errc::no_such_file_or_directory);
    };
    block_on(main);
}

TEST(offload, makes_work_wait_its_turn_when_all_threads_are_busy) {
    thread_pool pool({.threads = 2});
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    const auto main = [&]() -> task<> {
        const auto work = [&] {
            const int now = ++inside;
            if (now > most) most = now;
            std::this_thread::yield();
            --inside;
        };
        std::vector<task<>> all;
        const auto one = [&]() -> task<> { co_await offload(pool, work); };
        for (int i = 0; i != 200; ++i) all.push_back(one());
        co_await when_all(std::move(all));
    };
    block_on(main);
    EXPECT_LE(most, 2);
    EXPECT_LE(pool.threads(), 2U);
    EXPECT_EQ(pool.queued(), 0U);
}

TEST(offload, drops_work_that_has_not_begun_when_it_is_cancelled) {
    thread_pool pool({.threads = 1});
    std::promise<void> gate;
    bool ran = false;
    const auto main = [&]() -> task<> {
        const auto blocks = [&] { gate.get_future().wait(); };
        const auto never = [&] { ran = true; };
        const auto hurried = [&]() -> task<> {
            auto r = co_await as_result(with_timeout(0s, offload(pool, never)));
            EXPECT_TRUE(!r && r.error() == std::errc::timed_out);
            gate.set_value();
        };
        co_await when_all(offload(pool, blocks), hurried());
    };
    block_on(main);
    EXPECT_FALSE(ran);
}

TEST(offload, stops_work_that_runs_and_waits_for_it) {
    std::atomic<bool> returned{false};
    futex started;
    const auto main = [&]() -> task<> {
        const auto works = [&](std::stop_token stop) {
            started.word = 1;
            started.wake_all();
            while (!stop.stop_requested()) std::this_thread::yield();
            returned = true;
            return 5;
        };
        const auto until_started = [&]() -> task<> {
            while (started.word == 0) co_await started.wait(0);
        };
        const auto first = co_await when_any(offload(works), until_started());
        EXPECT_EQ(first.index, 1u);
        EXPECT_TRUE(returned) << "the loser was not awaited";
    };
    block_on(main);
}

TEST(offload, survives_being_cancelled_at_any_moment) {
    thread_pool pool({.threads = 2});
    std::atomic<int> alive{0};
    const auto main = [&]() -> task<> {
        for (int i = 0; i != 300; ++i) {
            const auto held = std::make_shared<int>(i);
            const auto work = [held, &alive](std::stop_token) {
                ++alive;
                --alive;
                return *held;
            };
            auto r = co_await as_result(
                with_timeout(std::chrono::microseconds(i % 60), offload(pool, work)));
            if (r) {
                EXPECT_EQ(*r, i);
            }
            EXPECT_EQ(held.use_count(), 2) << "the operation has given its copy up";
        }
    };
    block_on(main);
    EXPECT_EQ(alive, 0);
}

TEST(offload, runs_on_the_loop_itself_when_the_runtime_has_no_pool) {
    runtime_options o;
    o.offload_threads = 0;
    const auto main = []() -> task<> {
        const auto where = [] { return std::this_thread::get_id(); };
        EXPECT_EQ(co_await offload(where), std::this_thread::get_id());
    };
    block_on(main, o);
}

TEST(thread_pool, refuses_what_would_wait_beyond_its_queue_and_does_the_rest) {
    std::atomic<int> done{0};
    {
        std::promise<void> gate;
        std::promise<void> running;
        thread_pool pool({.threads = 1, .queue = 3});
        EXPECT_TRUE(pool.try_post([&] {
            running.set_value();
            gate.get_future().wait();
        }));
        running.get_future().wait();
        for (int i = 0; i != 3; ++i) EXPECT_TRUE(pool.try_post([&] { ++done; }));
        EXPECT_FALSE(pool.try_post([&] { ++done; }));
        EXPECT_EQ(pool.queued(), 3U);
        gate.set_value();
    }
    EXPECT_EQ(done, 3);
}

TEST(thread_pool, of_a_runtime_has_the_queue_that_was_asked_for) {
    runtime_options o;
    o.offload_threads = 1;
    o.offload_queue = 2;
    std::promise<void> gate;
    std::promise<void> running;
    runtime rt(o);
    thread_pool& pool = *rt.offload_pool();
    EXPECT_TRUE(pool.try_post([&] {
        running.set_value();
        gate.get_future().wait();
    }));
    running.get_future().wait();
    EXPECT_TRUE(pool.try_post([] {}));
    EXPECT_TRUE(pool.try_post([] {}));
    EXPECT_FALSE(pool.try_post([] {}));
    gate.set_value();
}

TEST(thread_pool, that_can_start_no_thread_fails_what_it_is_given) {
    if (!failing_calls::available()) GTEST_SKIP() << "calls are not replaced in this build";
    runtime_options o;
    o.backend = backend_kind::epoll;  // io_uring syncs files without a thread
    const auto main = []() -> task<> {
        const auto where = [] { return std::this_thread::get_id(); };
        fs::file null = fs::file::adopt(::open("/dev/null", O_RDWR | O_CLOEXEC), "/dev/null");
        {
            const failing_calls fails("pthread_create", EAGAIN, 1, true);
            auto refused = co_await as_result(offload(where));
            EXPECT_EQ(refused.error(), std::errc::resource_unavailable_try_again);
            EXPECT_FALSE(loop::current()->offload_pool()->try_post([] {}));
            auto synced = co_await as_result(null.sync());
            EXPECT_EQ(synced.error(), std::errc::not_enough_memory);
            auto closed = co_await as_result(null.close());
            EXPECT_TRUE(closed);
            EXPECT_TRUE(fails.happened());
        }
        EXPECT_NE(co_await offload(where), std::this_thread::get_id()) << "later there is one";
    };
    block_on(main, o);
}
