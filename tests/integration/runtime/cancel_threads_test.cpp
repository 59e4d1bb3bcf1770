#include <coracle/runtime/cancel_source.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/stop_token.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

using namespace coracle;
using namespace std::chrono_literals;

namespace {

runtime_options loops(unsigned n) {
    runtime_options o;
    o.loops = n;
    return o;
}

}  // namespace

TEST(cancel_source_across_threads, ends_what_waits_on_every_loop) {
    const cancel_source source;
    std::atomic<int> ended{0};
    runtime rt(loops(3));
    std::thread canceller;
    rt.run([&](loop& l) -> task<> {
        if (l.index() == 0) canceller = std::thread([source] { source.cancel(); });
        auto r = co_await as_result(with_cancel(source, forever()));
        EXPECT_TRUE(!r && r.error() == std::errc::operation_canceled);
        ++ended;
    });
    canceller.join();
    EXPECT_EQ(ended, 3);
}

TEST(cancel_source_across_threads, may_meet_the_end_of_what_it_cancels) {
    for (int round = 0; round != 300; ++round) {
        const cancel_source source;
        std::thread canceller([source] { source.cancel(); });
        const auto main = [&]() -> task<> {
            const auto short_lived = [&]() -> task<int> {
                for (int i = 0; i != round % 20; ++i) co_await yield();
                co_return 1;
            };
            auto r = co_await as_result(with_cancel(source, short_lived));
            EXPECT_TRUE(r || r.error() == std::errc::operation_canceled);
        };
        block_on(main);
        canceller.join();
        EXPECT_TRUE(source.cancelled());
    }
}

TEST(stop_token_across_threads, reaches_a_task_and_comes_from_one) {
    for (int round = 0; round != 50; ++round) {
        std::stop_source outer;
        std::thread requester([&] { outer.request_stop(); });
        std::stop_token inner;
        const auto works = [&]() -> task<> {
            const task_stop_source stop = co_await task_stop_source::here();
            inner = stop.token();
            co_await forever();
        };
        const auto main = [&]() -> task<> {
            auto r = co_await as_result(with_stop_token(outer.get_token(), works));
            EXPECT_FALSE(r);
        };
        block_on(main);
        requester.join();
        EXPECT_TRUE(inner.stop_requested());
    }
}
