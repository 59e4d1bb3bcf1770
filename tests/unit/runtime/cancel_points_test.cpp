// Each scenario is run with a cancellation before its first turn, its second, and so on until one
// comes too late: what is shared must be whole after all of them.

#include "support/virtual_time.hpp"

#include <coracle/runtime/broadcast.hpp>
#include <coracle/runtime/cancel_source.hpp>
#include <coracle/runtime/channel.hpp>
#include <coracle/runtime/condition.hpp>
#include <coracle/runtime/mutex.hpp>
#include <coracle/runtime/once.hpp>
#include <coracle/runtime/semaphore.hpp>
#include <coracle/runtime/when_all.hpp>

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

using namespace coracle;
using namespace coracle::testing;

namespace {

constexpr int points = 40;

task<> cancel_after(cancel_source source, int turns) {
    for (int i = 0; i != turns; ++i) co_await yield();
    source.cancel();
}

/// Runs `f` until it ends or is cancelled; true when it was cancelled.
template <class F>
task<bool> run_until_cancelled(cancel_source source, F& f) {
    const auto call = [&f] { return f(); };
    auto r = co_await as_result(with_cancel(source, call));
    co_return !r;
}

}  // namespace

TEST(cancelling_at_every_point, of_a_receiver_loses_and_doubles_no_value) {
    int cancelled = 0;
    for (int turn = 0; turn != points; ++turn) {
        run_virtually([&]() -> task<> {
            channel<int> c(2);
            const cancel_source source;
            std::vector<int> all;
            const auto receives = [&]() -> task<> {
                while (auto v = co_await c.receive()) {
                    all.push_back(*v);
                    co_await yield();
                }
            };
            const auto sends = [&]() -> task<> {
                for (int i = 0; i != 8; ++i) {
                    co_await c.send(i);
                    if (i % 3 == 0) co_await yield();
                }
                c.close();
            };
            auto [a, b, d, e] = co_await when_all(run_until_cancelled(source, receives), receives(),
                                                  sends(), cancel_after(source, turn));
            cancelled += a ? 1 : 0;
            EXPECT_EQ(all.size(), 8U) << "turn " << turn;
            EXPECT_EQ(std::accumulate(all.begin(), all.end(), 0), 28) << "turn " << turn;
        });
    }
    EXPECT_GT(cancelled, 5);
    EXPECT_LT(cancelled, points) << "the last ones come too late";
}

TEST(cancelling_at_every_point, of_a_sender_sends_a_value_or_hands_it_back) {
    int cancelled = 0;
    for (int turn = 0; turn != points; ++turn) {
        run_virtually([&]() -> task<> {
            channel<int> c(1);
            const cancel_source source;
            int handed_back = 0;
            int received = 0;
            const auto sends = [&]() -> task<> {
                for (int i = 1; i <= 20; ++i) {
                    auto op = c.send(i);
                    auto r = co_await as_result(op);
                    if (!r) handed_back += op.value();
                }
            };
            const auto receives = [&]() -> task<> {
                while (auto v = co_await c.receive()) {
                    received += *v;
                    co_await yield();
                }
            };
            const auto both = [&]() -> task<> {
                const bool stopped = co_await run_until_cancelled(source, sends);
                cancelled += stopped || handed_back != 0 ? 1 : 0;
                c.close();
            };
            co_await when_all(both(), receives(), cancel_after(source, turn));
            EXPECT_EQ(handed_back + received, 210) << "turn " << turn;
        });
    }
    EXPECT_GT(cancelled, 5);
    EXPECT_LT(cancelled, points);
}

TEST(cancelling_at_every_point, of_a_waiter_leaves_a_mutex_and_a_semaphore_free) {
    for (int turn = 0; turn != points; ++turn) {
        run_virtually([&]() -> task<> {
            mutex<int> m(0);
            semaphore s(2);
            const cancel_source source;
            const auto works = [&]() -> task<> {
                auto permit = co_await s.hold(2);
                auto guard = co_await m.lock();
                ++*guard;
                co_await yield();
                --*guard;
            };
            co_await when_all(works(), run_until_cancelled(source, works), works(),
                              cancel_after(source, turn));
            EXPECT_FALSE(m.locked()) << "turn " << turn;
            EXPECT_EQ(s.available(), 2U) << "turn " << turn;
        });
    }
}

TEST(cancelling_at_every_point, of_who_does_the_work_leaves_it_to_another) {
    for (int turn = 0; turn != points; ++turn) {
        run_virtually([&]() -> task<> {
            once o;
            const cancel_source source;
            int done = 0;
            const auto work = [&]() -> task<> {
                for (int i = 0; i != 4; ++i) co_await yield();
                ++done;
            };
            const auto user = [&]() -> task<> { co_await o.run(work); };
            co_await when_all(run_until_cancelled(source, user), user(), user(),
                              cancel_after(source, turn));
            EXPECT_EQ(done, 1) << "turn " << turn;
            EXPECT_TRUE(o.done());
        });
    }
}

TEST(cancelling_at_every_point, of_a_waiter_passes_its_notification_on) {
    for (int turn = 0; turn != points; ++turn) {
        run_virtually([&]() -> task<> {
            condition c;
            const cancel_source source;
            int woken = 0;
            const auto waits = [&]() -> task<> {
                co_await c.wait();
                ++woken;
            };
            const auto notifies = [&]() -> task<> {
                for (int i = 0; i != 5; ++i) co_await yield();
                c.notify_one();
                c.notify_one();
                co_await yield();
                co_await yield();
                c.notify_all();
            };
            auto [stopped, a, b, d, e] =
                co_await when_all(run_until_cancelled(source, waits), waits(), waits(), notifies(),
                                  cancel_after(source, turn));
            EXPECT_EQ(woken, stopped ? 2 : 3) << "turn " << turn;
        });
    }
}

TEST(cancelling_at_every_point, of_a_reader_holds_no_sender_up) {
    for (int turn = 0; turn != points; ++turn) {
        run_virtually([&]() -> task<> {
            broadcast<int> b(1, slow_reader::wait);
            const cancel_source source;
            int sum = 0;
            auto stays = b.subscribe();
            const auto leaves = [&]() -> task<> {
                auto mine = b.subscribe();
                while (auto v = co_await mine.receive()) co_await yield();
            };
            const auto reads = [&]() -> task<> {
                while (auto v = co_await stays.receive()) sum += *v;
            };
            const auto sends = [&]() -> task<> {
                for (int i = 1; i <= 6; ++i) co_await b.send(i);
                b.close();
            };
            co_await when_all(run_until_cancelled(source, leaves), reads(), sends(),
                              cancel_after(source, turn));
            EXPECT_EQ(sum, 21) << "turn " << turn;
            EXPECT_EQ(b.readers(), 1U);
        });
    }
}
