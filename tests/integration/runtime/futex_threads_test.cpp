#include <coracle/runtime/futex.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_any.hpp>

#include <gtest/gtest.h>

#include <thread>
#include <vector>

using namespace coracle;
using namespace std::chrono_literals;

namespace {

/// A use of a futex: a lock that tasks of any loop, and threads, take in turn.
class shared_lock {
public:
    task<> lock() {
        for (;;) {
            std::uint32_t free = 0;
            if (word_.word.compare_exchange_strong(free, 1)) co_return;
            co_await word_.wait(1);
        }
    }
    void lock_blocking() {
        for (;;) {
            std::uint32_t free = 0;
            if (word_.word.compare_exchange_strong(free, 1)) return;
            word_.wait_blocking(1);
        }
    }
    void unlock() {
        word_.word.store(0);
        word_.wake();
    }

private:
    futex word_;
};

runtime_options loops(unsigned n) {
    runtime_options o;
    o.loops = n;
    return o;
}

}  // namespace

TEST(futex_across_threads, makes_a_lock_for_tasks_and_threads) {
    constexpr int each = 1'000;
    shared_lock lock;
    int guarded = 0;  // not atomic: the thread sanitizer sees whether the lock holds
    std::vector<std::thread> threads;
    for (int t = 0; t != 2; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i != each; ++i) {
                lock.lock_blocking();
                ++guarded;
                lock.unlock();
            }
        });
    }
    runtime rt(loops(2));
    rt.run([&](loop&) -> task<> {
        for (int i = 0; i != each; ++i) {
            co_await lock.lock();
            ++guarded;
            lock.unlock();
        }
    });
    for (auto& t : threads) t.join();
    EXPECT_EQ(guarded, 4 * each);
}

TEST(futex_across_threads, tells_a_thread_when_its_time_has_passed) {
    futex f;
    EXPECT_FALSE(f.wait_blocking(0, 1ms));
    EXPECT_TRUE(f.wait_blocking(1, 1ms));
    EXPECT_EQ(f.wake_all(), 0U);
}

TEST(futex_across_threads, loses_no_wake_to_waits_that_are_cancelled) {
    constexpr std::uint32_t rounds = 1'000;
    futex f;
    runtime rt(loops(2));
    rt.run([&](loop& l) -> task<> {
        if (l.index() == 0) {
            for (std::uint32_t i = 1; i <= rounds; ++i) {
                f.word.store(i);
                f.wake();
                co_await yield();
            }
            co_return;
        }
        for (std::uint32_t seen = 0; seen != rounds; seen = f.word.load()) {
            co_await when_any(f.wait(seen), yield());
        }
    });
}
