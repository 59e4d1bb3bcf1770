#include "support/virtual_time.hpp"

#include <coracle/runtime/channel.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

task<> send_up_to(channel<int> c, int n) {
    for (int i = 0; i != n; ++i) co_await c.send(i);
    c.close();
}

task<std::vector<int>> receive_all(channel<int> c) {
    std::vector<int> all;
    while (auto v = co_await c.receive()) all.push_back(*v);
    co_return all;
}

}  // namespace

TEST(channel, gives_what_was_sent_in_order_and_ends_when_it_is_closed) {
    for (const std::size_t capacity : {1U, 2U, 7U, 1000U}) {
        run_virtually([capacity]() -> task<> {
            const channel<int> c(capacity);
            auto [sent, all] = co_await when_all(send_up_to(c, 300), receive_all(c));
            EXPECT_EQ(all.size(), 300U);
            for (std::size_t i = 0; i != all.size(); ++i) EXPECT_EQ(all[i], static_cast<int>(i));
        });
    }
}

TEST(channel, makes_senders_wait_while_it_is_full) {
    run_virtually([]() -> task<> {
        channel<int> c(2);
        std::string order;
        const auto sends = [&](int v) -> task<> {
            co_await c.send(v);
            order += std::to_string(v);
        };
        const auto receives = [&]() -> task<> {
            EXPECT_EQ(order, "12");
            EXPECT_EQ(c.size(), 2U);
            EXPECT_EQ(*co_await c.receive(), 1);
            co_await yield();
            EXPECT_EQ(order, "123");
            EXPECT_EQ(*co_await c.receive(), 2);
            EXPECT_EQ(*co_await c.receive(), 3);
            EXPECT_EQ(*co_await c.receive(), 4);
        };
        co_await when_all(sends(1), sends(2), sends(3), sends(4), receives());
        EXPECT_EQ(order, "1234");
    });
}

TEST(channel, serves_receivers_in_the_order_in_which_they_came) {
    run_virtually([]() -> task<> {
        channel<int> c(4);
        std::string order;
        const auto receives = [&](char name) -> task<> {
            auto v = co_await c.receive();
            order += name + std::to_string(*v);
        };
        const auto sends = [&]() -> task<> {
            for (int i = 1; i <= 3; ++i) co_await c.send(i);
            EXPECT_FALSE(c.try_receive()) << "they are promised";
        };
        co_await when_all(receives('a'), receives('b'), receives('c'), sends());
        EXPECT_EQ(order, "a1b2c3");
    });
}

TEST(channel, carries_what_can_only_be_moved) {
    run_virtually([]() -> task<> {
        channel<std::unique_ptr<int>> c(1);
        co_await c.send(std::make_unique<int>(6));
        auto full = std::make_unique<int>(7);
        EXPECT_FALSE(c.try_send(std::move(full)));
        EXPECT_NE(full, nullptr) << "what was not sent is still there";
        EXPECT_EQ(**co_await c.receive(), 6);
        EXPECT_TRUE(c.try_send(std::move(full)));
        EXPECT_EQ(**c.try_receive(), 7);
        EXPECT_FALSE(c.try_receive());
    });
}

TEST(channel, refuses_what_is_sent_after_it_was_closed_and_hands_it_back) {
    run_virtually([]() -> task<> {
        channel<std::string> c(1);
        co_await c.send("first");
        auto waiting = c.send("second");
        auto late = c.send("third");
        const auto sends = [&](channel_send<std::string>& op) -> task<> {
            auto r = co_await as_result(op);
            EXPECT_TRUE(!r && r.error() == std::errc::broken_pipe);
        };
        const auto closes = [&]() -> task<> {
            c.close();
            c.close();
            EXPECT_TRUE(c.closed());
            co_return;
        };
        co_await when_all(sends(waiting), closes(), sends(late));
        EXPECT_EQ(waiting.value(), "second");
        EXPECT_EQ(late.value(), "third");
        EXPECT_FALSE(c.try_send("fourth"));
        EXPECT_EQ(co_await c.receive(), "first");
        EXPECT_EQ(co_await c.receive(), std::nullopt);
    });
}

TEST(channel, tells_all_that_wait_for_a_value_when_it_is_closed) {
    run_virtually([]() -> task<> {
        const channel<int> c(1);
        const auto closes = [](channel<int> mine) -> task<> {
            co_await sleep_for(1s);
            mine.close();
        };
        auto [a, b, none] = co_await when_all(receive_all(c), receive_all(c), closes(c));
        EXPECT_TRUE(a.empty());
        EXPECT_TRUE(b.empty());
    });
}

TEST(channel, hands_a_value_back_when_its_sending_is_cancelled) {
    run_virtually([]() -> task<> {
        channel<std::string> c(1);
        co_await c.send("first");
        auto op = c.send("second");
        const auto waits = [&]() -> task<> {
            auto r = co_await as_result(op);
            EXPECT_TRUE(!r && r.error() == std::errc::operation_canceled);
        };
        co_await as_result(with_timeout(1s, waits));
        EXPECT_EQ(op.value(), "second");
        EXPECT_EQ(co_await c.receive(), "first");
        EXPECT_FALSE(c.try_receive()) << "the second was not sent";
    });
}

TEST(channel, forgets_a_receiver_that_was_cancelled) {
    run_virtually([]() -> task<> {
        channel<int> c(1);
        auto r = co_await as_result(with_timeout(1s, c.receive()));
        EXPECT_FALSE(r);
        co_await c.send(5);
        EXPECT_EQ(c.try_receive(), 5);
    });
}

TEST(channel, loses_nothing_when_a_receiver_is_cancelled_that_was_promised_a_value) {
    run_virtually([]() -> task<> {
        channel<int> c(3);
        const auto sends = [&]() -> task<> {
            co_await yield();
            co_await c.send(1);
            co_await c.send(2);
        };
        const auto race = [&]() -> task<> {
            auto r = co_await when_any(c.receive(), sends());
            EXPECT_EQ(r.index, 1U);
        };
        int got = 0;
        const auto other = [&]() -> task<> { got = *co_await c.receive(); };
        co_await when_all(race(), other());
        EXPECT_EQ(got, 1) << "and it kept its place";
        EXPECT_EQ(c.try_receive(), 2);
    });
}

TEST(channel, does_not_tell_the_end_while_a_promised_value_may_come_back) {
    run_virtually([]() -> task<> {
        channel<int> c(1);
        const auto sends = [&]() -> task<> {
            co_await yield();
            co_await c.send(1);
            c.close();
        };
        const auto race = [&]() -> task<> {
            auto r = co_await when_any(c.receive(), sends());
            EXPECT_EQ(r.index, 1U);
        };
        std::optional<int> got;
        const auto other = [&]() -> task<> { got = co_await c.receive(); };
        co_await when_all(race(), other());
        EXPECT_EQ(got, 1);
    });
}

TEST(channel, still_lets_other_tasks_run_now_and_then) {
    run_virtually([]() -> task<> {
        channel<int> c(1);
        const auto turns = loop::current()->turns();
        for (int i = 0; i != 10'000; ++i) {
            co_await c.send(i);
            EXPECT_EQ(co_await c.receive(), i);
        }
        EXPECT_GT(loop::current()->turns(), turns + 100);
    });
}

TEST(channel, lets_a_timer_fire_while_two_tasks_keep_each_other_busy) {
    run_virtually([]() -> task<> {
        channel<int> there(1);
        channel<int> back(1);
        const auto plays = [](channel<int> from, channel<int> to) -> task<> {
            while (auto v = co_await from.receive()) co_await to.send(*v + 1);
        };
        co_await there.send(0);
        const auto game = [&]() -> task<> {
            co_await when_all(plays(there, back), plays(back, there));
        };
        // Virtual time passes only where the loop looks at its timers.
        auto r = co_await as_result(with_timeout(0s, game));
        EXPECT_TRUE(!r && r.error() == std::errc::timed_out);
    });
}

TEST(channel, destroys_what_is_left_in_it) {
    const auto value = std::make_shared<int>(1);
    {
        channel<std::shared_ptr<int>> c(3);
        for (int i = 0; i != 5; ++i) {
            if (!c.try_send(value)) static_cast<void>(c.try_receive());
        }
        EXPECT_GT(value.use_count(), 2);
    }
    EXPECT_EQ(value.use_count(), 1);
}

TEST(channel, without_room_is_refused) {
    EXPECT_THROW(channel<int>(0), exception);
}

TEST(channel, may_be_used_by_a_plain_thread_that_does_not_have_to_wait) {
    channel<int> c(1);
    EXPECT_TRUE(c.send_blocking(1));
    EXPECT_EQ(c.send_blocking(2, 1ms).error(), std::errc::timed_out);
    EXPECT_EQ(c.receive_blocking(), 1);
    EXPECT_EQ(c.receive_blocking(1ms).error(), std::errc::timed_out);
    c.close();
    EXPECT_EQ(c.send_blocking(3).error(), std::errc::broken_pipe);
    EXPECT_EQ(c.receive_blocking().error(), errc::end_of_stream);
}

TEST(channel, loses_nothing_to_a_selection_when_several_have_something) {
    run_virtually([]() -> task<> {
        channel<int> a(1);
        channel<int> b(1);
        co_await a.send(1);
        co_await b.send(2);
        const auto first = co_await when_any(a.receive(), b.receive());
        EXPECT_EQ(first.index, 0U);
        EXPECT_EQ(first.value, 1);
        EXPECT_EQ(co_await b.receive(), 2);
    });
}
