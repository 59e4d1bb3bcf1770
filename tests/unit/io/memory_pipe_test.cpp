#include "support/content.hpp"

#include <coracle/io/copy.hpp>
#include <coracle/io/memory.hpp>
#include <coracle/io/memory_pipe.hpp>
#include <coracle/io/reader.hpp>
#include <coracle/io/writer.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using coracle::testing::noise_of;

namespace {

task<std::expected<void, error>> write(io::sink& to, std::string_view text) {
    slice piece(text);
    co_return co_await to.write({&piece, 1});
}

task<> write_and_finish(io::sink& to, std::string_view text) {
    auto written = co_await write(to, text);
    EXPECT_TRUE(written);
    auto finished = co_await to.finish();
    EXPECT_TRUE(finished);
}

TEST(a_pipe_in_memory, carries_everything_whatever_its_capacity) {
    const std::string content = noise_of(10'000);
    for (const std::size_t capacity : {0U, 1U, 2U, 7U, 4096U, 10'000U, 20'000U}) {
        block_on([&]() -> task<> {
            auto [from, to] = io::pipe(capacity);
            std::string got;
            io::memory_sink end(got);
            auto write_all = write_and_finish(to, content);
            co_await when_all(io::copy(from, end), std::move(write_all));
            EXPECT_EQ(got, content) << capacity;
        });
    }
}

TEST(a_pipe_in_memory, holds_its_writer_until_there_is_room) {
    block_on([]() -> task<> {
        auto [from, to] = io::pipe(8);
        EXPECT_TRUE(co_await write(to, "12345678"));
        const auto more = [&]() -> task<> {
            auto written = co_await write(to, "9");
            EXPECT_TRUE(written);
        };
        bool over = false;
        spawn([&]() -> task<> {
            co_await more();
            over = true;
        });
        for (int i = 0; i != 5; ++i) co_await yield();
        EXPECT_FALSE(over);
        char one[1];
        EXPECT_EQ(co_await from.read_some(one), 1U);
        while (!over) co_await yield();
        char rest[16];
        EXPECT_EQ(co_await from.read_some(rest), 8U);
        EXPECT_EQ(std::string_view(rest, 8), "23456789");
        to.close();
    });
}

TEST(a_pipe_in_memory, ends_when_it_is_finished_and_not_before_it_is_read) {
    block_on([]() -> task<> {
        auto [from, to] = io::pipe();
        EXPECT_TRUE(co_await write(to, "last"));
        to.close();
        auto late = co_await write(to, "x");
        EXPECT_FALSE(late);
        if (!late) {
            EXPECT_EQ(late.error(), std::errc::broken_pipe);
        }
        char room[8];
        EXPECT_EQ(co_await from.read_some(room), 4U);
        EXPECT_EQ(co_await from.read_some(room), 0U);
        EXPECT_EQ(co_await from.read_some(room), 0U);
    });
}

TEST(a_pipe_in_memory, wakes_its_reader_when_it_is_finished) {
    block_on([]() -> task<> {
        auto [from, to] = io::pipe();
        spawn([&]() -> task<> {
            co_await yield();
            to.close();
        });
        char room[8];
        EXPECT_EQ(co_await from.read_some(room), 0U);
    });
}

TEST(a_pipe_in_memory, breaks_when_nobody_will_read) {
    block_on([]() -> task<> {
        auto [from, to] = io::pipe(4);
        spawn([&]() -> task<> {
            co_await yield();
            from.close();
        });
        auto cut = co_await write(to, "more than four");
        EXPECT_FALSE(cut);
        if (!cut) {
            EXPECT_EQ(cut.error(), std::errc::broken_pipe);
        }
        auto again = co_await write(to, "x");
        EXPECT_FALSE(again);
    });
}

TEST(a_pipe_in_memory, says_that_its_writer_was_dropped_unfinished) {
    block_on([]() -> task<> {
        auto ends = io::pipe();
        io::pipe_source from = std::move(ends.source);
        {
            io::pipe_sink to = std::move(ends.sink);
            EXPECT_TRUE(co_await write(to, "half"));
        }
        char room[8];
        EXPECT_EQ(co_await from.read_some(room), 4U);
        auto end = co_await from.read_some(room);
        EXPECT_FALSE(end);
        if (!end) {
            EXPECT_EQ(end.error(), std::errc::connection_aborted);
        }
    });
}

TEST(a_pipe_in_memory, passes_an_error_on) {
    block_on([]() -> task<> {
        auto [from, to] = io::pipe();
        to.fail(error(std::errc::io_error, "read"));
        io::reader in(from);
        auto line = co_await as_result(in.read_line());
        EXPECT_FALSE(line);
        if (!line) {
            EXPECT_EQ(line.error(), std::errc::io_error);
        }
    });
}

TEST(a_pipe_in_memory, loses_nothing_when_a_read_is_cancelled) {
    block_on([]() -> task<> {
        auto [from, to] = io::pipe();
        io::reader in(from);
        EXPECT_TRUE(co_await write(to, "be"));
        for (int i = 0; i != 3; ++i) {
            auto cut =
                co_await as_result(with_timeout(std::chrono::milliseconds(1), in.read_line()));
            EXPECT_FALSE(cut);
        }
        EXPECT_TRUE(co_await write(to, "gun\n"));
        EXPECT_EQ(co_await in.read_line(), "begun");
        to.close();
    });
}

}  // namespace
