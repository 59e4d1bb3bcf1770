#include "support/allocation_count.hpp"
#include "support/pieces.hpp"

#include <coracle/io/memory.hpp>
#include <coracle/io/reader.hpp>
#include <coracle/runtime/runtime.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace coracle;
using coracle::testing::allocations;
using coracle::testing::counts_allocations;
using coracle::testing::pieces_source;

namespace {

using strings = std::vector<std::string>;

/// A block that is small enough to be too small.
constexpr io::reader_options tight(std::size_t longest_line = 1024) {
    return {.block = 64, .longest_line = longest_line};
}

task<strings> all_lines(io::reader& in, char delimiter = '\n') {
    strings all;
    while (auto line = co_await in.read_line(delimiter)) all.emplace_back(*line);
    co_return all;
}

strings lines_of(std::string_view text, std::size_t piece, io::reader_options options = tight()) {
    return block_on([&]() -> task<strings> {
        pieces_source from(text, piece);
        io::reader in(from, options);
        co_return co_await all_lines(in);
    });
}

TEST(a_reader, gives_the_same_lines_wherever_its_source_is_cut) {
    const std::string text = "first\n\nthird, " + std::string(200, 'x') + "\r\nlast";
    const strings expected = {"first", "", "third, " + std::string(200, 'x') + '\r', "last"};
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
        EXPECT_EQ(lines_of(text, piece), expected) << piece;
    }
}

TEST(a_reader, has_no_line_behind_a_last_delimiter) {
    EXPECT_EQ(lines_of("", 1), strings{});
    EXPECT_EQ(lines_of("\n", 1), strings{""});
    EXPECT_EQ(lines_of("a\n", 1), strings{"a"});
    EXPECT_EQ(lines_of("a\n\n", 1), (strings{"a", ""}));
}

TEST(a_reader, drops_a_carriage_return_before_the_delimiter_when_asked) {
    io::reader_options options = tight();
    options.drop_carriage_return = true;
    for (std::size_t piece = 1; piece <= 16; ++piece) {
        EXPECT_EQ(lines_of("a\r\n\r\nb\n\r\r\nc\r", piece, options),
                  (strings{"a", "", "b", "\r", "c\r"}))
            << piece;
    }
}

TEST(a_reader, takes_a_line_of_its_limit_and_refuses_a_longer_one) {
    for (const std::size_t size : {99U, 100U, 101U}) {
        const std::string line(size, 'x');
        for (const std::size_t piece : {1U, 100U, 101U, 300U}) {
            for (const std::string_view end : {"\n", "", "\r\n"}) {
                SCOPED_TRACE(std::to_string(size) + " in pieces of " + std::to_string(piece));
                io::reader_options options = tight(100);
                options.drop_carriage_return = end == "\r\n";
                block_on([&]() -> task<> {
                    const std::string text = line + std::string(end);
                    pieces_source from(text, piece);
                    io::reader in(from, options);
                    auto got = co_await as_result(in.read_line());
                    if (size <= 100) {
                        EXPECT_TRUE(got && *got == line);
                        co_return;
                    }
                    EXPECT_FALSE(got);
                    if (got) co_return;
                    EXPECT_EQ(got.error(), errc::limit_exceeded);
                    EXPECT_EQ(got.error().subject(), "reader_options::longest_line");
                    EXPECT_EQ(in.position(), 0U);
                });
            }
        }
    }
}

TEST(a_reader, goes_on_behind_a_line_that_was_too_long) {
    const std::string text = std::string(5000, 'x').append("\nnext\n");
    for (const std::size_t piece : {7U, 6000U}) {
        block_on([&]() -> task<> {
            pieces_source from(text, piece);
            io::reader in(from, tight(100));
            auto refused = co_await as_result(in.read_line());
            EXPECT_FALSE(refused);
            EXPECT_TRUE(co_await in.skip_line());
            auto next = co_await in.read_line();
            EXPECT_EQ(next, "next");
            EXPECT_FALSE(co_await in.skip_line());
        });
    }
}

TEST(a_reader, has_a_block_whatever_is_asked_for) {
    block_on([]() -> task<> {
        io::memory_source from("one\ntwo");
        io::reader in(from, {.block = 0});
        EXPECT_EQ(co_await in.read_line(), "one");
        EXPECT_EQ(co_await in.read_line(), "two");
        EXPECT_EQ(co_await in.read_line(), std::nullopt);
    });
}

TEST(a_reader, tells_whether_the_last_line_had_its_delimiter) {
    block_on([]() -> task<> {
        io::memory_source from("a\nb");
        io::reader in(from);
        co_await in.read_line();
        EXPECT_TRUE(in.delimited());
        co_await in.read_line();
        EXPECT_FALSE(in.delimited());
    });
}

TEST(a_reader, keeps_an_unfinished_line_until_the_source_has_grown_when_asked) {
    block_on([]() -> task<> {
        pieces_source from("one\ntw");
        io::reader_options options = tight();
        options.unfinished_lines = false;
        io::reader in(from, options);
        EXPECT_EQ(co_await in.read_line(), "one");
        EXPECT_EQ(co_await in.read_line(), std::nullopt);
        EXPECT_EQ(in.buffered(), "tw");
        from.grows("o\nthree");
        EXPECT_EQ(co_await in.read_line(), "two");
        EXPECT_EQ(co_await in.read_line(), std::nullopt);
        EXPECT_EQ(in.position(), 8U);
    });
}

TEST(a_reader, reads_until_a_text_wherever_its_source_is_cut) {
    // The text begins anew within itself.
    const std::string text = "a--b---->" + std::string(100, '-') + ">" + "end-->";
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
        block_on([&]() -> task<> {
            pieces_source from(text, piece);
            io::reader in(from, tight());
            EXPECT_EQ(co_await in.read_until("-->"), "a--b--");
            EXPECT_EQ(co_await in.read_until("-->"), std::string(98, '-'));
            EXPECT_EQ(co_await in.read_until("-->"), "end");
            EXPECT_TRUE(in.delimited());
            EXPECT_EQ(co_await in.read_until("-->"), std::nullopt);
            EXPECT_EQ(in.position(), text.size());
        });
    }
}

TEST(a_reader, without_a_limit_of_its_lines_looks_for_a_text_in_vain) {
    block_on([]() -> task<> {
        pieces_source from("no such text", 5);
        io::reader in(from, {.longest_line = SIZE_MAX, .most_held = SIZE_MAX});
        EXPECT_EQ(co_await in.read_until("-->"), "no such text");
        EXPECT_EQ(co_await in.read_until("-->"), std::nullopt);
    });
}

TEST(a_reader, bounds_what_it_reads_until_a_text) {
    for (const std::size_t size : {99U, 100U, 101U}) {
        for (const std::string_view end : {"<>", ""}) {
            for (const std::size_t piece : {1U, 1000U}) {
                const std::string text = std::string(size, 'x') + std::string(end);
                block_on([&]() -> task<> {
                    pieces_source from(text, piece);
                    io::reader in(from, tight(100));
                    auto got = co_await as_result(in.read_until("<>"));
                    EXPECT_EQ(got.has_value(), size <= 100) << size << end << piece;
                    if (got) {
                        EXPECT_EQ((*got)->size(), size);
                    }
                    if (!got) {
                        EXPECT_EQ(got.error().subject(), "reader_options::longest_line");
                    }
                });
            }
        }
    }
}

TEST(a_reader, reads_exact_numbers_of_bytes_wherever_its_source_is_cut) {
    std::string text;
    for (int i = 0; i != 300; ++i) text += static_cast<char>('a' + i % 26);
    for (std::size_t piece = 1; piece <= text.size(); piece += 3) {
        block_on([&]() -> task<> {
            pieces_source from(text, piece);
            io::reader in(from, tight());
            std::size_t at = 0;
            for (const std::size_t size : {0U, 1U, 63U, 64U, 65U, 100U}) {
                EXPECT_EQ(co_await in.peek(size), text.substr(at, size));
                EXPECT_EQ(in.position(), at);
                EXPECT_EQ(co_await in.read_exactly(size), text.substr(at, size));
                at += size;
                EXPECT_EQ(in.position(), at);
            }
            co_await in.skip(5);
            at += 5;
            EXPECT_EQ(co_await in.peek(100), text.substr(at));
            auto more = co_await as_result(in.read_exactly(100));
            EXPECT_FALSE(more);
            if (!more) {
                EXPECT_EQ(more.error(), errc::end_of_stream);
                EXPECT_EQ(more.error().bytes(), text.size() - at);
            }
            EXPECT_EQ(in.position(), at);
            auto skipped = co_await as_result(in.skip(100));
            EXPECT_FALSE(skipped);
            if (!skipped) {
                EXPECT_EQ(skipped.error().bytes(), text.size() - at);
            }
            EXPECT_EQ(in.position(), text.size());
            EXPECT_EQ(co_await in.read_some(), "");
        });
    }
}

TEST(a_reader, holds_no_more_at_once_than_it_may) {
    const std::string text(1000, 'x');
    block_on([&]() -> task<> {
        pieces_source from(text, 10);
        io::reader in(from, {.block = 64, .most_held = 200});
        EXPECT_EQ((co_await in.peek(200)).size(), 200U);
        auto peeked = co_await as_result(in.peek(201));
        EXPECT_FALSE(peeked);
        if (!peeked) {
            EXPECT_EQ(peeked.error().subject(), "reader_options::most_held");
        }
        EXPECT_EQ((co_await in.read_exactly(200)).size(), 200U);
        auto read = co_await as_result(in.read_exactly(201));
        EXPECT_FALSE(read);
        if (!read) {
            EXPECT_EQ(read.error(), errc::limit_exceeded);
        }
        EXPECT_EQ(in.position(), 200U);
    });
}

struct record {
    std::uint32_t number;
    char name[4];
    friend bool operator==(const record&, const record&) = default;
};

TEST(a_reader, reads_structs_wherever_its_source_is_cut) {
    const record records[] = {{1, {'a', 'b', 'c', 'd'}}, {0xFFFFFFFF, {}}, {3, {'x'}}};
    const std::string text(reinterpret_cast<const char*>(records), sizeof records);
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
        block_on([&]() -> task<> {
            pieces_source from(text, piece);
            io::reader in(from, tight());
            for (const record& r : records) EXPECT_EQ(co_await in.read_struct<record>(), r);
            auto none = co_await as_result(in.read_struct<record>());
            EXPECT_FALSE(none);
            if (!none) {
                EXPECT_EQ(none.error(), errc::end_of_stream);
            }
        });
    }
}

TEST(a_reader, reads_all_up_to_a_limit) {
    const std::string text(1000, 'x');
    for (const std::size_t limit : {999U, 1000U, 1001U}) {
        block_on([&]() -> task<> {
            pieces_source from(text, 300);
            io::reader in(from, tight());
            auto all = co_await as_result(in.read_all(limit));
            EXPECT_EQ(all.has_value(), limit >= 1000);
            if (all) {
                EXPECT_EQ(*all, text);
            }
            if (!all) {
                EXPECT_EQ(all.error(), errc::limit_exceeded);
            }
        });
    }
}

TEST(a_reader, gives_lines_and_chunks_as_generators) {
    block_on([]() -> task<> {
        pieces_source from("a\nbb\nccc", 4);
        io::reader in(from, tight());
        strings got;
        {
            auto lines = in.lines();
            while (auto line = co_await lines.next()) {
                got.emplace_back(*line);
                if (line->size() == 2) break;
            }
        }
        EXPECT_EQ(got, (strings{"a", "bb"}));
        std::string rest;
        auto chunks = in.chunks();
        while (auto some = co_await chunks.next()) rest += *some;
        EXPECT_EQ(rest, "ccc");
    });
}

TEST(a_reader, fails_as_its_source_fails_and_keeps_what_it_has) {
    block_on([]() -> task<> {
        pieces_source from("one\ntwo");
        from.fails_at_end(error(std::errc::io_error, "read"));
        io::reader in(from, tight());
        EXPECT_EQ(co_await in.read_line(), "one");
        for (int i = 0; i != 2; ++i) {
            auto line = co_await as_result(in.read_line());
            EXPECT_FALSE(line);
            if (!line) {
                EXPECT_EQ(line.error(), std::errc::io_error);
            }
        }
        EXPECT_EQ(in.buffered(), "two");
        auto lines = in.lines();
        auto next = co_await as_result(lines.next());
        EXPECT_FALSE(next);
        if (!next) {
            EXPECT_EQ(next.error(), std::errc::io_error);
        }
    });
}

TEST(a_reader, reads_from_its_block_without_a_frame_and_without_suspending) {
    if (!counts_allocations()) GTEST_SKIP() << "the pools stand aside in this build";
    std::string text;
    for (int i = 0; i != 1000; ++i) text += "line " + std::to_string(i) + '\n';
    block_on([&]() -> task<> {
        pieces_source from(text);
        io::reader in(from);
        co_await in.peek(1);
        const std::size_t reads = from.reads();
        const std::uint64_t turns = loop::current()->turns();
        // A frame from the pool is no allocation: that none is asked for shows without a pool.
        block_pool* const pool = std::exchange(coracle::detail::current_pool, nullptr);
        const std::size_t before = allocations();
        std::size_t size = 0;
        for (int i = 0; i != 200; ++i) {
            size += (co_await in.read_line())->size();
            size += (co_await in.read_until("\n"))->size();
            size += (co_await in.read_exactly(3)).size();
            size += (co_await as_result(in.peek(2)))->size();
            size += (co_await in.read_struct<char>() == 'e');
            co_await in.skip(1);
            co_await in.skip_line();
        }
        size += (co_await in.read_some()).size();
        const std::size_t made = allocations() - before;
        coracle::detail::current_pool = pool;
        EXPECT_EQ(made, 0U);
        EXPECT_EQ(from.reads(), reads);
        EXPECT_EQ(loop::current()->turns(), turns);
        EXPECT_GT(size, 200U * 10);
    });
}

TEST(a_reader, asks_for_a_block_at_a_time) {
    std::string text;
    while (text.size() < 1000 * 1000) text += "some twenty bytes long\n";
    block_on([&]() -> task<> {
        pieces_source from(text);
        io::reader in(from);
        std::size_t lines = 0;
        while (co_await in.read_line()) ++lines;
        EXPECT_EQ(lines, text.size() / 23);
        // One for the end, and each is short by the part of a line that is held.
        EXPECT_LE(from.reads(), text.size() / (64 * 1024 - 23) + 2);
    });
}

TEST(a_reader, of_what_is_always_there_lets_other_tasks_run) {
    const std::string text(4 * 1024 * 1024, '\n');
    block_on([&]() -> task<> {
        io::memory_source from(text);
        io::reader in(from);
        const std::uint64_t before = loop::current()->turns();
        std::size_t lines = 0;
        while (co_await in.read_line()) ++lines;
        EXPECT_EQ(lines, text.size());
        const std::uint64_t turns = loop::current()->turns() - before;
        EXPECT_GE(turns, 7U);
        EXPECT_LE(turns, 9U);
    });
}

TEST(a_reader, may_own_its_source) {
    block_on([]() -> task<> {
        auto made = std::make_unique<io::memory_source>("a\nb\n");
        io::reader first(std::move(made));
        EXPECT_EQ(co_await first.read_line(), "a");
        io::reader in(std::move(first));
        EXPECT_EQ(co_await in.read_line(), "b");
    });
}

}  // namespace
