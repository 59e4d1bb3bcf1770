#include <coracle/runtime/channel.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

using namespace coracle;
using namespace std::chrono_literals;

namespace {

runtime_options loops(unsigned n) {
    runtime_options o;
    o.loops = n;
    return o;
}

/// Sees that each of the values 0 to n-1 arrives exactly once.
class ledger {
public:
    explicit ledger(int n) : seen_(static_cast<std::size_t>(n)) {}
    void add(int v) { seen_[static_cast<std::size_t>(v)].fetch_add(1); }
    void expect_each_once() const {
        for (std::size_t i = 0; i != seen_.size(); ++i) EXPECT_EQ(seen_[i], 1) << "value " << i;
    }

private:
    std::vector<std::atomic<int>> seen_;
};

}  // namespace

TEST(channel_across_loops, loses_and_doubles_nothing) {
    constexpr int each = 2'000;
    constexpr unsigned n = 4;
    ledger seen(each * static_cast<int>(n));
    const channel<int> c(8);
    std::atomic<unsigned> senders{n};
    runtime rt(loops(n));
    rt.run([&](loop& l) -> task<> {
        channel<int> mine = c;
        const int base = static_cast<int>(l.index()) * each;
        const auto both = [&](task_group& group) -> task<> {
            group.spawn([&]() -> task<> {
                for (int i = 0; i != each; ++i) co_await mine.send(base + i);
                if (--senders == 0) mine.close();
            });
            while (auto v = co_await mine.receive()) seen.add(*v);
        };
        co_await with_task_group(both);
    });
    seen.expect_each_once();
    EXPECT_EQ(c.size(), 0U);
}

TEST(channel_across_loops, keeps_the_order_of_each_sender) {
    constexpr int each = 3'000;
    channel<std::unique_ptr<std::pair<unsigned, int>>> c(4);
    std::atomic<unsigned> senders{2};
    runtime rt(loops(3));
    rt.run([&](loop& l) -> task<> {
        auto mine = c;
        if (l.index() != 0) {
            for (int i = 0; i != each; ++i) {
                co_await mine.send(std::make_unique<std::pair<unsigned, int>>(l.index(), i));
            }
            if (--senders == 0) mine.close();
            co_return;
        }
        int next[3] = {};
        while (auto v = co_await mine.receive()) {
            EXPECT_EQ((*v)->second, next[(*v)->first]);
            ++next[(*v)->first];
        }
        EXPECT_EQ(next[1] + next[2], 2 * each);
    });
}

TEST(channel_across_threads, joins_plain_threads_and_tasks) {
    constexpr int each = 1'000;
    ledger seen(each * 4);
    channel<int> c(3);
    std::atomic<int> senders{4};
    const auto sent = [&] {
        if (--senders == 0) c.close();
    };
    std::vector<std::thread> threads;
    for (int t = 0; t != 2; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i != each; ++i) EXPECT_TRUE(c.send_blocking(t * each + i));
            sent();
        });
        threads.emplace_back([&] {
            while (auto v = c.receive_blocking()) seen.add(*v);
        });
    }
    runtime rt(loops(2));
    rt.run([&](loop& l) -> task<> {
        auto mine = c;
        const int base = static_cast<int>(2 + l.index()) * each;
        const auto both = [&](task_group& group) -> task<> {
            group.spawn([&]() -> task<> {
                for (int i = 0; i != each; ++i) co_await mine.send(base + i);
                sent();
            });
            while (auto v = co_await mine.receive()) seen.add(*v);
        };
        co_await with_task_group(both);
    });
    for (auto& t : threads) t.join();
    seen.expect_each_once();
}

TEST(channel_across_loops, loses_nothing_when_receives_are_cancelled_all_the_time) {
    constexpr int count = 3'000;
    ledger seen(count);
    const channel<int> c(2);
    runtime rt(loops(3));
    rt.run([&](loop& l) -> task<> {
        channel<int> mine = c;
        if (l.index() == 0) {
            for (int i = 0; i != count; ++i) co_await mine.send(i);
            mine.close();
            co_return;
        }
        for (bool open = true; open;) {
            // The other member ends at about the time at which a value may come.
            auto first = co_await when_any(mine.receive(), yield());
            if (first.index == 1) continue;
            auto& value = std::get<0>(first.value);
            open = value.has_value();
            if (open) seen.add(*value);
        }
    });
    seen.expect_each_once();
}

TEST(channel_across_loops, sends_all_or_nothing_when_sends_are_cancelled_all_the_time) {
    constexpr int count = 2'000;
    ledger seen(count);
    const channel<int> c(1);
    runtime rt(loops(2));
    rt.run([&](loop& l) -> task<> {
        channel<int> mine = c;
        if (l.index() == 1) {
            while (auto v = co_await mine.receive()) seen.add(*v);
            co_return;
        }
        for (int i = 0; i != count;) {
            auto op = mine.send(i);
            std::expected<void, error> sent;
            const auto tries = [&]() -> task<> { sent = co_await as_result(op); };
            co_await as_result(with_timeout(0s, tries));
            if (sent) ++i;
        }
        mine.close();
    });
    seen.expect_each_once();
}

TEST(channel_across_loops, that_is_closed_in_the_midst_accounts_for_every_value) {
    for (int round = 0; round != 30; ++round) {
        std::atomic<int> sent{0};
        std::atomic<int> received{0};
        const channel<int> c(2);
        runtime rt(loops(3));
        rt.run([&](loop& l) -> task<> {
            channel<int> mine = c;
            if (l.index() == 0) {
                for (int i = 0; i != round; ++i) co_await yield();
                mine.close();
                co_return;
            }
            if (l.index() == 1) {
                for (;;) {
                    auto r = co_await as_result(mine.send(1));
                    if (!r) co_return;
                    ++sent;
                }
            }
            while (auto v = co_await mine.receive()) received += *v;
        });
        EXPECT_EQ(sent, received);
    }
}

TEST(channel_across_threads, may_end_the_loop_with_the_value_that_it_sends) {
    // The sender is still in its call when the loop that it woke is gone.
    for (int round = 0; round != 200; ++round) {
        channel<int> c(1);
        std::thread sender([&c, round] { EXPECT_TRUE(c.send_blocking(round)); });
        const auto receives = [&]() -> task<int> { co_return *co_await c.receive(); };
        EXPECT_EQ(block_on(receives), round);
        sender.join();
    }
}

TEST(channel_across_threads, lets_a_blocked_thread_go_when_it_is_closed) {
    channel<int> c(1);
    EXPECT_TRUE(c.send_blocking(1));
    std::thread sender([&] { EXPECT_EQ(c.send_blocking(2).error(), std::errc::broken_pipe); });
    std::thread closer([&] { c.close(); });
    sender.join();
    closer.join();
    EXPECT_EQ(c.receive_blocking(), 1);
    EXPECT_EQ(c.receive_blocking().error(), errc::end_of_stream);
}

TEST(channel_across_threads, keeps_every_value_when_blocked_threads_give_up) {
    constexpr int count = 500;
    ledger seen(count);
    channel<int> c(1);
    std::thread receiver([&] {
        for (;;) {
            auto v = c.receive_blocking(20us);
            if (v)
                seen.add(*v);
            else if (v.error() == errc::end_of_stream)
                return;
        }
    });
    for (int i = 0; i != count;) {
        if (c.send_blocking(i, 20us)) ++i;
    }
    c.close();
    receiver.join();
    seen.expect_each_once();
}
