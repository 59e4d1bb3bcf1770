#include "support/pieces.hpp"

#include <coracle/io/adapters.hpp>
#include <coracle/io/copy.hpp>
#include <coracle/io/memory.hpp>
#include <coracle/io/reader.hpp>
#include <coracle/io/writer.hpp>
#include <coracle/runtime/runtime.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using coracle::testing::pieces_source;
using coracle::testing::recording_sink;

namespace {

task<std::string> all_of(io::source& from) {
    io::reader in(from, {.block = 64});
    co_return co_await in.read_all(1 << 20);
}

TEST(a_limited_source, ends_at_its_limit_and_leaves_the_rest) {
    for (std::size_t piece = 1; piece != 8; ++piece) {
        block_on([&]() -> task<> {
            pieces_source from("hello, world", piece);
            io::limited_source head(from, 5);
            EXPECT_EQ(co_await all_of(head), "hello");
            EXPECT_EQ(head.left(), 0U);
            io::limited_source rest(from, 100);
            EXPECT_EQ(co_await all_of(rest), ", world");
            EXPECT_EQ(rest.left(), 93U);
        });
    }
}

TEST(a_counted_source, counts_and_gives_the_same) {
    block_on([]() -> task<> {
        pieces_source from("hello", 2);
        io::counted_source counted(from);
        char two[2];
        EXPECT_EQ(co_await counted.read_some(two), 2U);
        EXPECT_EQ(co_await all_of(counted), "llo");
        EXPECT_EQ(counted.bytes(), 5U);
    });
}

TEST(a_counted_sink, counts_what_was_taken) {
    block_on([]() -> task<> {
        recording_sink to(8);
        io::counted_sink counted(to);
        io::writer out(counted, {.block = 4});
        co_await out.write("12345");
        co_await out.flush();
        EXPECT_EQ(to.flushes(), 1U);
        auto refused = co_await as_result(out.write("6789"));
        EXPECT_TRUE(refused);
        refused = co_await as_result(out.flush());
        EXPECT_FALSE(refused);
        EXPECT_EQ(counted.bytes(), 5U);
    });
}

TEST(a_tee_source, writes_what_is_read) {
    block_on([]() -> task<> {
        pieces_source from("hello", 2);
        recording_sink copy(4);
        io::tee_source tee(from, copy);
        char room[8];
        EXPECT_EQ(co_await tee.read_some(room), 2U);
        EXPECT_EQ(co_await tee.read_some(room), 2U);
        EXPECT_EQ(copy.text(), "hell");
        auto failed = co_await tee.read_some(room);
        EXPECT_FALSE(failed);
        if (!failed) {
            EXPECT_EQ(failed.error(), std::errc::no_space_on_device);
        }
        EXPECT_EQ(co_await tee.read_some(room), 0U);
    });
}

TEST(a_tee_sink, writes_to_both) {
    block_on([]() -> task<> {
        recording_sink first;
        recording_sink second(10);
        io::tee_sink both(first, second);
        io::writer out(both, {.block = 4});
        co_await out.write("123");
        co_await out.write("456");
        co_await out.flush();
        EXPECT_EQ(first.text(), "123456");
        EXPECT_EQ(second.text(), "123456");
        EXPECT_EQ(first.flushes() + second.flushes(), 2U);
        const std::string large(200, 'x');
        auto failed = co_await as_result(out.write(large));
        EXPECT_FALSE(failed);
    });
}

TEST(concatenated_sources, come_one_after_the_other) {
    block_on([]() -> task<> {
        pieces_source a("one ", 1);
        pieces_source b("");
        io::memory_source c("two");
        io::concatenated_source all(a, b, c);
        EXPECT_EQ(co_await all_of(all), "one two");
        char room[8];
        EXPECT_EQ(co_await all.read_some(room), 0U);
        io::concatenated_source none(std::vector<io::source*>{});
        EXPECT_EQ(co_await all_of(none), "");
    });
}

TEST(a_reader_as_a_source, gives_what_is_not_consumed) {
    for (std::size_t piece = 1; piece != 30; ++piece) {
        block_on([&]() -> task<> {
            pieces_source from("head\nand the body of it", piece);
            io::reader in(from, {.block = 64});
            EXPECT_EQ(co_await in.read_line(), "head");
            io::reader_source body(in);
            EXPECT_EQ(co_await all_of(body), "and the body of it");
        });
    }
}

TEST(a_writer_as_a_sink, writes_behind_what_is_held) {
    block_on([]() -> task<> {
        recording_sink to;
        io::writer out(to, {.block = 16});
        co_await out.print("{}: ", 1);
        io::memory_source text("a text that is longer than the block");
        io::writer_sink sink(out);
        EXPECT_EQ(co_await io::copy(text, sink), 36U);
        auto flushed = co_await sink.flush();
        EXPECT_TRUE(flushed);
        EXPECT_EQ(to.text(), "1: a text that is longer than the block");
    });
}

TEST(a_memory_sink, takes_all_up_to_its_limit_or_nothing) {
    block_on([]() -> task<> {
        std::string text = "x";
        io::memory_sink to(text, 5);
        slice pieces[] = {{"ab"}, {"cd"}};
        EXPECT_TRUE(co_await to.write(pieces));
        EXPECT_EQ(text, "xabcd");
        slice one("e");
        auto more = co_await to.write({&one, 1});
        EXPECT_FALSE(more);
        if (!more) {
            EXPECT_EQ(more.error(), errc::limit_exceeded);
        }
        EXPECT_EQ(text, "xabcd");
        io::null_sink nowhere;
        EXPECT_TRUE(co_await nowhere.write({&one, 1}));
    });
}

}  // namespace
