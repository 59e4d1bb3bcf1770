#include "support/connected.hpp"
#include "support/stream_reads.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::connected;
using coracle::testing::connection_pair;
using coracle::testing::read_exactly;

namespace {

task<> send_all(net::byte_stream& s, std::string_view text) {
    const std::size_t n = co_await s.send(text);
    EXPECT_EQ(n, text.size());
}

/// Sends without a response until the system takes no more.
void fill(net::byte_stream& s) {
    const std::string block(65536, 'x');
    while (s.try_send(block) > 0) {
    }
}

}  // namespace

TEST(socket, carries_bytes_both_ways) {
    block_on([]() -> task<> {
        const auto both = co_await connected();
        co_await both.client->send("question");
        EXPECT_EQ(co_await read_exactly(*both.server, 8), "question");
        co_await both.server->send("reply");
        EXPECT_EQ(co_await read_exactly(*both.client, 5), "reply");
        EXPECT_EQ(both.server->peer().host(), "127.0.0.1");
        EXPECT_NE(both.server->peer().port(), 0);
    });
}

TEST(socket, carries_more_than_its_buffers_hold) {
    block_on([]() -> task<> {
        const auto both = co_await connected();
        std::string text(8 * 1024 * 1024, '\0');
        for (std::size_t i = 0; i != text.size(); ++i) text[i] = static_cast<char>(i * 7 + i / 253);
        auto [sent, received] = co_await when_all(send_all(*both.client, text),
                                                  read_exactly(*both.server, text.size()));
        EXPECT_EQ(sent, unit());
        EXPECT_TRUE(received == text);
    });
}

TEST(socket, sends_many_slices_in_order) {
    block_on([]() -> task<> {
        const auto both = co_await connected();
        std::vector<std::string> texts;
        for (int i = 0; i != 1000; ++i) texts.push_back(std::to_string(i) + ',');
        texts[500].clear();
        std::vector<slice> slices(texts.begin(), texts.end());
        std::string whole;
        for (const auto& t : texts) whole += t;
        const std::size_t n = co_await both.client->send(std::span(slices));
        EXPECT_EQ(n, whole.size());
        EXPECT_EQ(co_await read_exactly(*both.server, whole.size()), whole);
    });
}

TEST(socket, sends_nothing_when_there_is_nothing) {
    block_on([]() -> task<> {
        const auto both = co_await connected();
        EXPECT_EQ(co_await both.client->send(std::string_view()), 0u);
    });
}

TEST(socket, reads_into_the_spare_room_of_a_buffer) {
    block_on([]() -> task<> {
        const auto both = co_await connected();
        buffer partial(1000);
        partial.append("abc");
        co_await both.client->send("def");
        const buffer more = co_await both.server->receive_into(std::move(partial));
        EXPECT_EQ(more.view(), "abcdef");
    });
}

TEST(socket, receives_with_any_room) {
    block_on([]() -> task<> {
        const auto both = co_await connected();
        co_await coracle::testing::expect_receives_with_any_room(*both.server, *both.client);
    });
}

TEST(socket, tells_the_end_of_the_stream_each_time) {
    block_on([]() -> task<> {
        const auto both = co_await connected();
        co_await both.client->send("last");
        both.client->shutdown_output();
        EXPECT_EQ(co_await read_exactly(*both.server, 4), "last");
        for (int i = 0; i != 3; ++i) {
            auto r = co_await as_result(both.server->receive());
            EXPECT_FALSE(r);
            EXPECT_TRUE(r.error() == errc::end_of_stream);
        }
        co_await both.server->send("still open");
        EXPECT_EQ(co_await read_exactly(*both.client, 10), "still open");
    });
}

TEST(socket, tells_a_reset_with_the_peer_and_the_phase) {
    block_on([]() -> task<> {
        auto both = co_await connected();
        const auto peer = both.server->peer().to_string();
        both.client->close(true);
        auto r = co_await as_result(both.server->receive());
        EXPECT_FALSE(r);
        EXPECT_TRUE(r.error() == std::errc::connection_reset);
        EXPECT_EQ(r.error().phase(), phase::receive);
        EXPECT_EQ(r.error().subject(), peer);
    });
}

TEST(socket, tells_how_many_bytes_went_before_a_failure) {
    block_on([]() -> task<> {
        auto both = co_await connected();
        const std::string text(32 * 1024 * 1024, 'x');
        const auto closes = [&]() -> task<> {
            co_await both.server->receive();
            both.server->close(true);
        };
        auto [sent, closed] = co_await when_all(as_result(both.client->send(text)), closes());
        EXPECT_FALSE(sent);
        EXPECT_EQ(closed, unit());
        EXPECT_GT(sent.error().bytes(), 0u);
        EXPECT_LT(sent.error().bytes(), text.size());
        EXPECT_EQ(sent.error().phase(), phase::send);
    });
}

TEST(socket, loses_no_bytes_when_a_receive_is_cancelled) {
    block_on([]() -> task<> {
        const auto both = co_await connected();
        for (int i = 0; i != 20; ++i) {
            auto r = co_await as_result(with_timeout(1us, both.server->receive()));
            EXPECT_FALSE(r);
        }
        co_await both.client->send("whole");
        EXPECT_EQ(co_await read_exactly(*both.server, 5), "whole");
    });
}

TEST(socket, ends_a_send_that_is_cancelled) {
    block_on([]() -> task<> {
        const auto both = co_await connected();
        const std::string text(64 * 1024 * 1024, 'x');
        auto r = co_await as_result(with_timeout(1ms, both.client->send(text)));
        EXPECT_FALSE(r);
        EXPECT_TRUE(r.error() == std::errc::timed_out);
    });
}

TEST(socket, sends_without_waiting_as_much_as_fits) {
    block_on([]() -> task<> {
        const auto both = co_await connected();
        EXPECT_EQ(both.client->try_send("abc"), 3);
        fill(*both.client);
        EXPECT_EQ(both.client->try_send("abc"), -EAGAIN);
    });
}

TEST(socket, sends_a_part_of_a_file) {
    const coracle::testing::temporary_directory directory;
    std::string text(300'000, '\0');
    for (std::size_t i = 0; i != text.size(); ++i) text[i] = static_cast<char>(i % 251);
    const int fd = ::open(directory.write("file", text).c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    block_on([&]() -> task<> {
        const auto both = co_await connected();
        auto [sent, received] = co_await when_all(both.client->send_file(fd, 1000, 250'000),
                                                  read_exactly(*both.server, 250'000));
        EXPECT_EQ(sent, 250'000u);
        EXPECT_TRUE(received == text.substr(1000, 250'000));
        auto beyond = co_await as_result(both.client->send_file(fd, 299'990, 100));
        EXPECT_FALSE(beyond);
        EXPECT_TRUE(beyond.error() == std::errc(ENODATA));
        EXPECT_EQ(beyond.error().bytes(), 10u);
        EXPECT_EQ(co_await both.client->send_file(fd, 0, 0), 0u);
    });
    ::close(fd);
}

TEST(socket, tells_a_watcher_once_when_the_peer_hangs_up) {
    block_on([]() -> task<> {
        auto both = co_await connected();
        struct watcher : hangup_watch {
            int times = 0;
        } w;
        w.gone = [](hangup_watch& h) noexcept { ++static_cast<watcher&>(h).times; };
        EXPECT_TRUE(both.server->watch_hangup(&w));
        co_await both.client->send("x");
        co_await both.server->receive();
        EXPECT_EQ(w.times, 0);
        both.client->close();
        auto r = co_await as_result(both.server->receive());
        EXPECT_FALSE(r);
        while (w.times == 0) co_await yield();
        EXPECT_EQ(w.times, 1);
        EXPECT_FALSE(both.server->watch_hangup(&w)) << "it has gone already";
    });
}

TEST(socket, may_be_closed_twice) {
    block_on([]() -> task<> {
        auto both = co_await connected();
        both.client->close();
        both.client->close(true);
    });
}

TEST(connect, fails_where_nobody_listens) {
    block_on([]() -> task<> {
        net::address nobody;
        {
            auto l = net::listener::open(*loop::current(), coracle::testing::loopback());
            nobody = l->local();
        }
        auto r = co_await as_result(net::connect(nobody));
        EXPECT_FALSE(r);
        EXPECT_TRUE(r.error() == std::errc::connection_refused);
        EXPECT_EQ(r.error().phase(), phase::connect);
        EXPECT_EQ(r.error().subject(), nobody.to_string());
        EXPECT_TRUE(r.error().safe_to_retry());
    });
}

TEST(connect, fails_at_a_path_that_is_not_there) {
    const coracle::testing::temporary_directory directory;
    block_on([&]() -> task<> {
        const auto at = net::address::parse("unix:" + (directory.path() / "none").string()).value();
        auto r = co_await as_result(net::connect(at));
        EXPECT_FALSE(r);
        EXPECT_TRUE(r.error() == std::errc::no_such_file_or_directory);
    });
}

TEST(connect, does_not_take_a_full_queue_of_a_unix_socket_for_success) {
    const coracle::testing::temporary_directory directory;
    block_on([&]() -> task<> {
        const auto at = net::address::parse("unix:" + (directory.path() / "s").string()).value();
        socket_options options;
        options.backlog = 1;
        auto l = net::listener::open(*loop::current(), at, options);
        EXPECT_TRUE(l);
        std::vector<std::unique_ptr<net::socket>> waiting;
        bool refused = false;
        for (int i = 0; i != 10 && !refused; ++i) {
            auto r = co_await as_result(net::connect(at));
            refused = !r;
            if (r) waiting.push_back(std::move(*r));
        }
        EXPECT_TRUE(refused);
        EXPECT_LE(waiting.size(), 3u);
    });
}

TEST(socket, lets_a_send_be_cancelled_that_went_at_once_and_waits_for_its_turn) {
    block_on([]() -> task<> {
        auto both = co_await connected();
        auto send_on = [&both]() -> task<> {
            for (;;) co_await both.client->send("x");
        };
        const auto first = co_await when_any(send_on(), yield());
        EXPECT_EQ(first.index, 1U);
    });
}
