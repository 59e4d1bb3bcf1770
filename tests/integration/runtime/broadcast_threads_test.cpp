#include <coracle/runtime/broadcast.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>

#include <gtest/gtest.h>

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

}  // namespace

TEST(broadcast_across_loops, gives_all_to_every_reader_when_senders_wait) {
    constexpr int count = 2'000;
    broadcast<int> b(4, slow_reader::wait);
    std::vector<broadcast_reader<int>> readers;
    for (int i = 0; i != 3; ++i) readers.push_back(b.subscribe());
    std::thread plain([reader = std::move(readers[0])]() mutable {
        for (int i = 0; i != count; ++i) EXPECT_EQ(reader.receive_blocking(), i);
        EXPECT_EQ(reader.receive_blocking().error(), errc::end_of_stream);
    });
    runtime rt(loops(3));
    rt.run([&](loop& l) -> task<> {
        if (l.index() == 0) {
            for (int i = 0; i != count; ++i) co_await b.send(i);
            b.close();
            co_return;
        }
        auto mine = std::move(readers[l.index()]);
        int next = 0;
        while (auto v = co_await mine.receive()) EXPECT_EQ(*v, next++);
        EXPECT_EQ(next, count);
    });
    plain.join();
}

TEST(broadcast_across_loops, accounts_for_what_a_slow_reader_misses) {
    constexpr std::uint64_t count = 5'000;
    broadcast<std::uint64_t> b(16);
    std::vector<broadcast_reader<std::uint64_t>> readers;
    for (int i = 0; i != 2; ++i) readers.push_back(b.subscribe());
    runtime rt(loops(3));
    rt.run([&](loop& l) -> task<> {
        if (l.index() == 0) {
            for (std::uint64_t i = 0; i != count; ++i) co_await b.send(i);
            b.close();
            co_return;
        }
        auto mine = std::move(readers[l.index() - 1]);
        std::uint64_t received = 0;
        std::uint64_t before = 0;
        while (auto v = co_await mine.receive()) {
            EXPECT_TRUE(received == 0 || *v > before) << "in order, none twice";
            before = *v;
            ++received;
        }
        EXPECT_EQ(received + mine.lost(), count);
    });
}

TEST(broadcast_across_loops, survives_readers_that_come_and_go) {
    broadcast<int> b(2, slow_reader::wait);
    runtime rt(loops(3));
    rt.run([&](loop& l) -> task<> {
        if (l.index() == 0) {
            for (int i = 0; i != 2'000; ++i) co_await b.send(i);
            b.close();
            co_return;
        }
        while (!b.closed()) {
            auto reader = b.subscribe();
            int before = -1;
            for (int i = 0; i != 5; ++i) {
                auto v = co_await reader.receive();
                if (!v) break;
                if (before != -1) {
                    EXPECT_EQ(*v, before + 1);
                }
                before = *v;
            }
        }
    });
    EXPECT_EQ(b.readers(), 0U);
}
