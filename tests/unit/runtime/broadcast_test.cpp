#include "support/virtual_time.hpp"

#include <coracle/runtime/broadcast.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

task<std::string> read_all(broadcast_reader<char> reader, duration pause = {}) {
    std::string all;
    while (auto v = co_await reader.receive()) {
        all += *v;
        co_await sleep_for(pause);
    }
    co_return all;
}

task<> send_all(broadcast<char> b, std::string_view text, duration pause = {}) {
    for (const char c : text) {
        co_await b.send(c);
        co_await sleep_for(pause);
    }
    b.close();
}

}  // namespace

TEST(broadcast, gives_every_reader_all_that_was_sent_since_it_came) {
    run_virtually([]() -> task<> {
        broadcast<char> b(8);
        EXPECT_TRUE(b.try_send('-')) << "goes to nobody";
        auto first = b.subscribe();
        EXPECT_TRUE(b.try_send('a'));
        auto second = b.subscribe();
        EXPECT_EQ(b.readers(), 2U);
        auto [one, two, sent] = co_await when_all(
            read_all(std::move(first)), read_all(std::move(second)), send_all(b, "bcd", 1s));
        EXPECT_EQ(one, "abcd");
        EXPECT_EQ(two, "bcd");
        EXPECT_EQ(b.readers(), 0U);
    });
}

TEST(broadcast, lets_a_slow_reader_miss_the_oldest_and_counts_them) {
    run_virtually([]() -> task<> {
        broadcast<char> b(3);
        auto reader = b.subscribe();
        for (const char c : std::string("abcdefgh")) co_await b.send(c);
        EXPECT_EQ(reader.lost(), 5U);
        EXPECT_EQ(co_await reader.receive(), 'f');
        EXPECT_EQ(reader.lost(), 5U);
        EXPECT_EQ(reader.try_receive(), 'g');
        co_await b.send('i');
        EXPECT_EQ(co_await reader.receive(), 'h');
        EXPECT_EQ(reader.lost(), 5U);
    });
}

TEST(broadcast, disconnects_a_slow_reader_and_spares_the_others) {
    run_virtually([]() -> task<> {
        broadcast<char> b(2, slow_reader::disconnect);
        auto slow = b.subscribe();
        auto quick = b.subscribe();
        for (const char c : std::string("abc")) {
            co_await b.send(c);
            EXPECT_EQ(co_await quick.receive(), c);
        }
        for (int i = 0; i != 2; ++i) {
            auto r = co_await as_result(slow.receive());
            EXPECT_TRUE(!r && r.error() == errc::too_slow);
        }
        EXPECT_EQ(slow.lost(), 1U);
    });
}

TEST(broadcast, makes_senders_wait_for_the_slowest_reader) {
    run_virtually([]() -> task<> {
        broadcast<char> b(2, slow_reader::wait);
        auto slow = b.subscribe();
        auto quick = b.subscribe();
        const time_point began = loop::current()->now();
        auto [one, two, sent] = co_await when_all(
            read_all(std::move(slow), 1s), read_all(std::move(quick)), send_all(b, "abcdef"));
        EXPECT_EQ(one, "abcdef");
        EXPECT_EQ(two, "abcdef");
        EXPECT_EQ(loop::current()->now() - began, 6s);
    });
}

TEST(broadcast, lets_senders_go_on_when_the_reader_they_wait_for_leaves) {
    run_virtually([]() -> task<> {
        broadcast<char> b(1, slow_reader::wait);
        auto reader = std::make_unique<broadcast_reader<char>>(b.subscribe());
        auto quick = b.subscribe();
        co_await b.send('a');
        EXPECT_EQ(co_await quick.receive(), 'a');
        EXPECT_FALSE(b.try_send('b'));
        const auto leaves = [&]() -> task<> {
            co_await sleep_for(1s);
            reader.reset();
        };
        co_await when_all(b.send('b'), leaves());
        EXPECT_EQ(co_await quick.receive(), 'b');
    });
}

TEST(broadcast, hands_a_value_back_that_was_not_sent) {
    run_virtually([]() -> task<> {
        broadcast<std::string> b(1, slow_reader::wait);
        auto reader = b.subscribe();
        co_await b.send("first");
        auto op = b.send("second");
        const auto waits = [&]() -> task<> { co_await as_result(op); };
        co_await as_result(with_timeout(1s, waits));
        EXPECT_EQ(op.value(), "second");
        auto late = b.send("third");
        const auto sends = [&]() -> task<> {
            auto r = co_await as_result(late);
            EXPECT_TRUE(!r && r.error() == std::errc::broken_pipe);
        };
        const auto closes = [&]() -> task<> {
            b.close();
            co_return;
        };
        co_await when_all(sends(), closes());
        EXPECT_EQ(late.value(), "third");
        EXPECT_EQ(co_await reader.receive(), "first");
        EXPECT_EQ(co_await reader.receive(), std::nullopt);
    });
}

TEST(broadcast, loses_nothing_when_a_wait_of_a_reader_is_cancelled) {
    run_virtually([]() -> task<> {
        broadcast<char> b(4);
        auto reader = b.subscribe();
        auto r = co_await as_result(with_timeout(1s, reader.receive()));
        EXPECT_FALSE(r);
        const auto sends = [&]() -> task<> {
            co_await yield();
            co_await b.send('a');
        };
        auto first = co_await when_any(reader.receive(), sends());
        EXPECT_EQ(first.index, 1U);
        EXPECT_EQ(co_await reader.receive(), 'a');
        EXPECT_EQ(reader.lost(), 0U);
    });
}

TEST(broadcast, keeps_nothing_that_all_have_received) {
    run_virtually([]() -> task<> {
        const auto value = std::make_shared<int>(1);
        broadcast<std::shared_ptr<int>> b(4);
        auto one = b.subscribe();
        auto two = b.subscribe();
        co_await b.send(value);
        co_await one.receive();
        EXPECT_EQ(value.use_count(), 2);
        co_await two.receive();
        EXPECT_EQ(value.use_count(), 1);
        co_await b.send(value);
        {
            const auto gone = std::move(one);
        }
        {
            const auto gone = std::move(two);
        }
        EXPECT_EQ(value.use_count(), 1);
    });
}

TEST(broadcast, without_room_is_refused) {
    EXPECT_THROW(broadcast<int>(0), exception);
}

TEST(broadcast, serves_plain_threads) {
    broadcast<int> b(1, slow_reader::wait);
    auto reader = b.subscribe();
    EXPECT_EQ(reader.receive_blocking(1ms).error(), std::errc::timed_out);
    EXPECT_TRUE(b.send_blocking(1));
    EXPECT_EQ(b.send_blocking(2, 1ms).error(), std::errc::timed_out);
    EXPECT_EQ(reader.receive_blocking(), 1);
    b.close();
    EXPECT_EQ(reader.receive_blocking().error(), errc::end_of_stream);
}

namespace {

/// Uses the broadcast that it was sent through when it goes.
struct looks_back {
    broadcast<looks_back>* at = nullptr;
    int* seen = nullptr;

    looks_back(broadcast<looks_back>& b, int& n) noexcept : at(&b), seen(&n) {}
    looks_back(const looks_back&) = default;
    looks_back(looks_back&& other) noexcept
        : at(std::exchange(other.at, nullptr)), seen(other.seen) {}
    ~looks_back() {
        if (at != nullptr) *seen += static_cast<int>(at->readers());
    }
};

}  // namespace

TEST(broadcast, destroys_values_where_they_may_use_it) {
    run_virtually([]() -> task<> {
        int seen = 0;
        broadcast<looks_back> b(2);
        auto first = b.subscribe();
        {
            auto second = b.subscribe();
            for (int i = 0; i != 3; ++i) EXPECT_TRUE(b.try_send(looks_back(b, seen)));
            EXPECT_EQ(seen, 2) << "the oldest was dropped";
            EXPECT_TRUE(first.try_receive());
            EXPECT_EQ(seen, 4);
            EXPECT_TRUE(first.try_receive());
        }
        EXPECT_EQ(seen, 6 + 1 + 1) << "the second reader took two with it";
        EXPECT_EQ(first.lost(), 1u);
        co_return;
    });
}
