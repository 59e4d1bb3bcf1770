// Wakes that reach one task of several, and what is counted in memory, are not lost either when
// that task is cancelled: they are passed on, or are there the next time.

#include "support/selections.hpp"

#include <coracle/io/memory_pipe.hpp>
#include <coracle/io/reader.hpp>
#include <coracle/runtime/condition.hpp>
#include <coracle/runtime/futex.hpp>
#include <coracle/runtime/mutex.hpp>
#include <coracle/runtime/readiness.hpp>
#include <coracle/runtime/semaphore.hpp>
#include <coracle/runtime/ticker.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <string>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t n = 50;

/// Two tasks select what `make` gives, which only one can have at a time, until each has had it `n`
/// times.
template <class Make>
task<> two_take_turns(Make make) {
    const auto collects = [&]() -> task<> {
        const std::size_t came = co_await collect(make, one, n);
        EXPECT_EQ(came, n);
    };
    const auto both = [&] { return when_all(collects(), collects()); };
    auto ended = co_await as_result(with_timeout(20s, both));
    EXPECT_TRUE(ended) << ended.error();
}

task<> locks() {
    mutex<int> there(0);
    co_await two_take_turns([&] { return there.lock(); });
    EXPECT_TRUE(there.try_lock());
}

task<> permits() {
    semaphore there(1);
    co_await two_take_turns([&] { return there.hold(); });
    EXPECT_EQ(there.available(), 1U);
}

/// Wakes one of two tasks that wait, of which the first selects something else that ends at about
/// the same time: one of them has been woken.
template <class Wait, class Wake>
task<> one_of_two_is_woken(Wait wait, Wake wake) {
    for (std::size_t i = 0; i != n; ++i) {
        bool has_it = false;
        const auto race = [&]() -> task<> {
            if (i % 8 < 4) co_await last_of_turn();
            auto first = co_await when_any(wait(), something_else(i));
            has_it = first.index == 0;
        };
        const auto patience = [&]() -> task<> {
            co_await turns(1);
            const auto patient = [&]() -> task<> { co_await as_result(wait()); };
            auto ended = co_await as_result(with_timeout(5s, patient));
            EXPECT_TRUE(ended) << "nobody was woken, round " << i;
        };
        const auto waking = [&]() -> task<> {
            co_await turns(2);
            wake();
            co_await turns(8);
            // The other one must end as well.
            if (has_it) wake();
        };
        co_await when_all(race(), patience(), waking());
    }
}

task<> notifications() {
    condition there;
    co_await one_of_two_is_woken([&] { return there.wait(); }, [&] { there.notify_one(); });
}

task<> wakes() {
    futex there;
    co_await one_of_two_is_woken([&] { return there.wait(0); }, [&] { there.wake(); });
}

task<> ticks() {
    loop& l = *loop::current();
    ticker each = every(1ms);
    const time_point began = l.now();
    std::uint64_t came = 0;
    for (std::size_t i = 0; i != n; ++i) {
        co_await sleep_for(1ms);
        while (l.may_complete_inline()) {
        }
        auto first = co_await when_any(each.next(), something_else(i));
        if (first.index == 0) came += std::get<0>(first.value);
    }
    const auto due = static_cast<std::uint64_t>((l.now() - began) / 1ms);
    came += co_await each.next();
    EXPECT_GE(came, due);
}

task<> lines() {
    auto [from, to] = io::pipe(64);
    io::reader reads(from);
    const auto write = [&]() -> task<> {
        for (std::size_t i = 0; i != n; ++i) {
            const std::string line = std::to_string(i) + "\n";
            slice piece{std::string_view(line)};
            const auto written = co_await to.write({&piece, 1});
            EXPECT_TRUE(written);
        }
    };
    const auto read = [&]() -> task<> {
        std::size_t next = 0;
        const auto read_line = [&] { return reads.read_line(); };
        const auto in_order = [&](const auto& line) {
            EXPECT_EQ(line.value_or("no line"), std::to_string(next));
            ++next;
            return std::size_t{1};
        };
        const std::size_t came = co_await collect(read_line, in_order, n);
        EXPECT_EQ(came, n);
    };
    co_await when_all(write(), read());
}

/// A wait that has completed and was cancelled before its task went on is cancelled: its task would
/// take what the descriptor has from one that still wants it.
task<> readiness_of_nobody() {
    const int fd = ::eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
    std::size_t came = 0;
    for (std::size_t i = 0; i != 200; ++i) {
        if (i % 8 < 4) co_await last_of_turn();
        const auto ended = co_await when_any_results(readable(fd), something_else(i));
        const auto& ready = std::get<0>(ended.results);
        EXPECT_EQ(ready.has_value(), ended.first == 0) << "round " << i;
        came += ready.has_value() ? 1U : 0U;
    }
    EXPECT_GT(came, 0U);
    EXPECT_LT(came, 200U);
    ::close(fd);
}

class lost_wakes : public ::testing::TestWithParam<backend_case> {
protected:
    loop_on on{GetParam()};
};

}  // namespace

TEST_P(lost_wakes, no_lock_and_no_permit) {
    on.run(locks);
    on.run(permits);
}
TEST_P(lost_wakes, no_notification) {
    on.run(notifications);
    on.run(wakes);
}
TEST_P(lost_wakes, no_tick) {
    on.run(ticks);
}
TEST_P(lost_wakes, no_line_of_a_pipe_in_memory) {
    on.run(lines);
}
TEST_P(lost_wakes, readiness_goes_to_nobody_who_left) {
    on.run(readiness_of_nobody);
}

INSTANTIATE_TEST_SUITE_P(each, lost_wakes, ::testing::ValuesIn(each_backend()),
                         [](const auto& of) { return std::string(of.param.name); });

TEST(lost_wakes_simulated, nothing) {
    for (const std::uint64_t seed : seeds(10)) {
        for (const auto part : {locks, permits, notifications, wakes, ticks, lines}) {
            simulation(seed).run(part);
        }
    }
}
