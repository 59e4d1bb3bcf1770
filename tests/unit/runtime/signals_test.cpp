#include <coracle/runtime/background.hpp>
#include <coracle/runtime/offload.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/signals.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <memory>

using namespace coracle;
using namespace std::chrono_literals;

namespace {

bool blocked(int number) {
    sigset_t set;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &set);
    return sigismember(&set, number) == 1;
}

}  // namespace

TEST(signal_set, gives_a_signal_that_was_raised_before) {
    signal_set signals{SIGUSR1};
    ::raise(SIGUSR1);
    EXPECT_EQ(block_on([&] { return signals.next(); }), SIGUSR1);
}

TEST(signal_set, waits_for_a_signal_to_the_process) {
    signal_set signals{SIGUSR1, SIGUSR2};
    block_on([&]() -> task<> {
        const auto kills = []() -> task<> {
            co_await yield();
            EXPECT_EQ(::kill(::getpid(), SIGUSR2), 0);
        };
        auto [number, nothing] = co_await when_all(signals.next(), kills());
        EXPECT_EQ(number, SIGUSR2);
    });
}

TEST(signal_set, has_one_task_that_waits) {
    signal_set signals{SIGUSR1};
    block_on([&]() -> task<> {
        const auto second = [&]() -> task<> {
            auto refused = co_await as_result(signals.next());
            EXPECT_EQ(refused.error(), std::errc::device_or_resource_busy);
            ::raise(SIGUSR1);
        };
        auto [number, nothing] = co_await when_all(signals.next(), second());
        EXPECT_EQ(number, SIGUSR1);
    });
}

TEST(signal_set, tells_who_has_sent_a_signal) {
    signal_set signals{SIGUSR1};
    EXPECT_EQ(::kill(::getpid(), SIGUSR1), 0);
    const received_signal s = block_on([&] { return signals.next_received(); });
    EXPECT_EQ(s.number, SIGUSR1);
    EXPECT_EQ(s.sender, ::getpid());
    EXPECT_EQ(s.user, ::getuid());
}

TEST(signal_set, loses_no_signal_when_a_wait_is_cancelled) {
    signal_set signals{SIGUSR1};
    block_on([&]() -> task<> {
        const auto wait = [&] { return signals.next(); };
        auto r = co_await as_result(with_timeout(1ms, wait));
        EXPECT_FALSE(r);
        ::raise(SIGUSR1);
        EXPECT_EQ(co_await signals.next(), SIGUSR1);
    });
}

TEST(signal_set, blocks_its_signals_while_it_lives) {
    EXPECT_FALSE(blocked(SIGUSR1));
    {
        const signal_set signals{SIGUSR1};
        EXPECT_TRUE(blocked(SIGUSR1));
        EXPECT_FALSE(blocked(SIGUSR2));
    }
    EXPECT_FALSE(blocked(SIGUSR1));
}

TEST(signal_set, unblocks_its_own_signals_whatever_others_there_are) {
    auto first = std::make_unique<signal_set>(std::initializer_list<int>{SIGUSR1});
    auto second = std::make_unique<signal_set>(std::initializer_list<int>{SIGUSR2});
    first.reset();
    EXPECT_FALSE(blocked(SIGUSR1));
    EXPECT_TRUE(blocked(SIGUSR2)) << "the other set waits for it";
    second.reset();
    EXPECT_FALSE(blocked(SIGUSR1)) << "it was blocked when the second was made";
    EXPECT_FALSE(blocked(SIGUSR2));
}

TEST(signal_set, leaves_blocked_what_was_blocked_before) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &one, nullptr);
    {
        const signal_set signals{SIGUSR1, SIGUSR2};
    }
    EXPECT_TRUE(blocked(SIGUSR1));
    EXPECT_FALSE(blocked(SIGUSR2));
    ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

// A signal of a fault that is blocked ends the process without its handler, which puts a terminal's
// mode back, or prints a stack.
TEST(threads_of_ours, block_what_others_wait_for_and_not_their_own_faults) {
    struct mask {
        bool fault = true;
        bool profiler = true;
        bool of_others = false;
    };
    const auto look = [] { return mask{blocked(SIGSEGV), blocked(SIGPROF), blocked(SIGTERM)}; };
    background loops;
    const mask seen[] = {
        block_on([&]() -> task<mask> { co_return co_await offload(look); }),
        loops.wait([&]() -> task<mask> { co_return look(); }),
    };
    for (const mask& m : seen) {
        EXPECT_FALSE(m.fault);
        EXPECT_FALSE(m.profiler);
        EXPECT_TRUE(m.of_others);
    }
}

TEST(signal_set, shares_the_signals_of_a_process_with_other_sets) {
    signal_set first{SIGUSR1};
    signal_set second{SIGUSR2};
    ::raise(SIGUSR2);
    ::raise(SIGUSR1);
    EXPECT_EQ(block_on([&] { return first.next(); }), SIGUSR1);
    EXPECT_EQ(block_on([&] { return second.next(); }), SIGUSR2);
}
