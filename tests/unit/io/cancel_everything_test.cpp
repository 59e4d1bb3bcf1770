#include "support/cancel_everywhere.hpp"

#include <coracle/io/copy.hpp>
#include <coracle/io/memory.hpp>
#include <coracle/io/memory_pipe.hpp>
#include <coracle/io/reader.hpp>
#include <coracle/io/writer.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <string>

// As tests/unit/runtime/cancel_everything_test.cpp, for what streams give to await.

using namespace coracle;
using namespace coracle::testing;

namespace {

/// A reader whose content comes bit by bit, while the operation waits and after it was cancelled.
struct reader_row : cancel_row {
    static constexpr bool again = true;
    static constexpr std::string_view content = "hello\nworld\n";
    io::pipe_ends ends = io::pipe(64);
    io::reader in{ends.source};

    task<> help() {
        for (const std::string_view some : {content.substr(0, 2), content.substr(2)}) {
            co_await turns(2);
            slice piece(some);
            static_cast<void>(co_await ends.sink.write({&piece, 1}));
        }
        ends.sink.close();
    }
};

struct read_line_row : reader_row {
    auto make() { return in.read_line(); }
    task<> finish() {
        if (in.position() == 0) co_return;
        EXPECT_EQ(in.position(), 6U);
        auto next = co_await as_result(in.read_line());
        EXPECT_TRUE(next && *next == "world");
    }
};
struct read_until_row : reader_row {
    auto make() { return in.read_until("\nw"); }
};
struct read_exactly_row : reader_row {
    auto make() { return in.read_exactly(5); }
};
struct read_some_row : reader_row {
    auto make() { return in.read_some(); }
};
struct read_all_row : reader_row {
    auto make() { return in.read_all(100); }
};
struct peek_row : reader_row {
    auto make() { return in.peek(5); }
    task<> finish() {
        EXPECT_EQ(in.position(), 0U);
        auto all = co_await as_result(in.read_all(100));
        EXPECT_TRUE(all && *all == content);
    }
};
struct skip_row : reader_row {
    static constexpr bool again = false;  // what it went over stays consumed
    auto make() { return in.skip(5); }
};
struct skip_line_row : reader_row {
    auto make() { return in.skip_line(); }
};
struct read_struct_row : reader_row {
    auto make() { return in.read_struct<std::uint32_t>(); }
};

struct source_row : reader_row {
    char room[64];
    operation<std::size_t> make() { return ends.source.read_some(room); }
};
struct fill_row : reader_row {
    buffer room;
    operation<std::size_t> make() { return ends.source.fill(room, 64); }
};

/// A pipe that is too small, and is read slowly.
struct sink_row : cancel_row {
    io::pipe_ends ends = io::pipe(4);
    std::string text = std::string(10, 'x');
    slice piece{text};

    task<> help() {
        char room[4];
        for (;;) {
            co_await turns(2);
            operation<std::size_t> reading = ends.source.read_some(room);
            auto some = co_await as_result(with_timeout(a_turn * 50, std::move(reading)));
            if (!some || *some == 0) co_return;
        }
    }
};
struct sink_write_row : sink_row {
    operation<void> make() { return ends.sink.write({&piece, 1}); }
};
struct sink_flush_row : sink_row {
    operation<void> make() { return ends.sink.flush(); }
};
struct sink_finish_row : sink_row {
    operation<void> make() { return ends.sink.finish(); }
};

struct writer_row : sink_row {
    io::writer out{ends.sink, {.block = 64}};
    std::string large = std::string(100, 'x');
    task<> prepare() {
        static_cast<void>(co_await as_result(out.write("held, and more than the pipe takes")));
    }
    task<> finish() {
        out.discard();
        co_return;
    }
};
struct write_row : writer_row {
    auto make() { return out.write(large); }
};
struct print_row : writer_row {
    auto make() { return out.print("{}, {}", 1, large); }
};
struct println_row : writer_row {
    auto make() { return out.println("{:>5}, {}", 1, large); }
};
struct put_row : writer_row {
    task<> prepare() {
        const std::string full(64, 'x');
        static_cast<void>(co_await as_result(out.write(full)));
    }
    auto make() { return out.put('x'); }
};
struct write_struct_row : writer_row {
    char object[100] = {};
    auto make() { return out.write_struct(object); }
};
struct writer_flush_row : writer_row {
    auto make() { return out.flush(); }
};
struct writer_finish_row : writer_row {
    auto make() { return out.finish(); }
};

struct copy_row : sink_row {
    io::memory_source from{"more than the pipe takes"};
    auto make() { return io::copy(from, ends.sink, {.block = 8}); }
};

constexpr cancel_case cases[] = {
    row<read_line_row>("reader::read_line(delimiter)"),
    row<read_until_row>("reader::read_until(text)"),
    row<read_exactly_row>("reader::read_exactly(n)"),
    row<read_some_row>("reader::read_some()"),
    row<read_all_row>("reader::read_all(limit)"),
    row<peek_row>("reader::peek(n)"),
    row<skip_row>("reader::skip(n)"),
    row<skip_line_row>("reader::skip_line(delimiter)"),
    row<read_struct_row>("reader::read_struct<T>()"),
    row<write_row>("writer::write(bytes)"),
    row<print_row>("writer::print(text, values...)"),
    row<println_row>("writer::println(text, values...)"),
    row<put_row>("writer::put(c)"),
    row<write_struct_row>("writer::write_struct(object)"),
    row<writer_flush_row>("writer::flush()"),
    row<writer_finish_row>("writer::finish()"),
    row<source_row>("source::read_some(into)"),
    row<fill_row>("source::fill(block, n)"),
    row<sink_write_row>("sink::write(pieces)"),
    row<sink_flush_row>("sink::flush()"),
    row<sink_finish_row>("sink::finish()"),
    row<copy_row>("io::copy(from, to, o)"),
};

class cancelled_in_a_stream : public ::testing::TestWithParam<cancel_case> {};

}  // namespace

TEST_P(cancelled_in_a_stream, unwinds_and_loses_nothing) {
    GetParam().run();
}

INSTANTIATE_TEST_SUITE_P(io, cancelled_in_a_stream, ::testing::ValuesIn(cases),
                         [](const auto& i) { return test_name(i.param.name); });
