#include "support/codings.hpp"
#include "support/content.hpp"
#include "support/pieces.hpp"

#include <coracle/io/compress.hpp>
#include <coracle/io/copy.hpp>
#include <coracle/io/memory.hpp>
#include <coracle/io/memory_pipe.hpp>
#include <coracle/io/reader.hpp>
#include <coracle/io/writer.hpp>
#include <coracle/runtime/runtime.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using coding::coding_error;
using coding::content_coding;
using coracle::testing::encoded;
using coracle::testing::noise_of;
using coracle::testing::pieces_source;
using coracle::testing::recording_sink;
using coracle::testing::text_of;

namespace {

constexpr content_coding every[] = {content_coding::gzip, content_coding::deflate,
                                    content_coding::brotli, content_coding::zstd};

class a_compressed_stream : public ::testing::TestWithParam<content_coding> {};
INSTANTIATE_TEST_SUITE_P(every_coding, a_compressed_stream, ::testing::ValuesIn(every),
                         [](const auto& i) { return std::string(to_string(i.param)); });

task<std::string> compressed(content_coding coding, std::string_view text,
                             std::optional<int> level = {}) {
    recording_sink to;
    io::compressing_sink sink(to, coding, level);
    io::writer out(sink, {.block = 100});
    for (std::size_t at = 0; at < text.size(); at += 77) {
        const std::string_view piece = text.substr(at, 77);
        co_await out.write(piece);
    }
    co_await out.finish();
    EXPECT_FALSE(to.finished());
    co_return to.text();
}

task<std::expected<std::string, error>> decompressed(content_coding coding, std::string_view bytes,
                                                     std::size_t piece,
                                                     coding::decoding_limits limits = {}) {
    pieces_source from(bytes, piece);
    io::decompressing_source source(from, coding, limits);
    io::reader in(source, {.block = 512});
    co_return co_await as_result(in.read_all(SIZE_MAX));
}

TEST_P(a_compressed_stream, comes_back_whatever_the_pieces) {
    for (const std::string& text : {std::string(), text_of(5000), noise_of(3000)}) {
        block_on([&]() -> task<> {
            const std::string bytes = co_await compressed(GetParam(), text);
            for (const std::size_t piece : {1U, 2U, 3U, 100U, 100'000U}) {
                auto back = co_await decompressed(GetParam(), bytes, piece);
                EXPECT_TRUE(back);
                if (back) {
                    EXPECT_EQ(*back, text);
                }
            }
        });
    }
}

TEST_P(a_compressed_stream, can_be_read_up_to_where_it_was_flushed) {
    block_on([]() -> task<> {
        auto [from, to] = io::pipe();
        io::compressing_sink sink(to, GetParam());
        io::writer out(sink);
        io::decompressing_source source(from, GetParam());
        io::reader in(source);
        for (int i = 0; i != 10; ++i) {
            co_await out.print("line {}\n", i);
            co_await out.flush();
            EXPECT_EQ(co_await in.read_line(), io::format("line {}", i));
        }
        co_await out.finish();
        to.close();
        EXPECT_EQ(co_await in.read_line(), std::nullopt);
    });
}

TEST_P(a_compressed_stream, that_is_cut_short_is_an_error_and_no_end) {
    block_on([]() -> task<> {
        const std::string bytes = coracle::testing::encoded(GetParam(), text_of(2000));
        for (std::size_t size = 1; size < bytes.size(); size += 13) {
            auto back = co_await decompressed(GetParam(), bytes.substr(0, size), 50);
            EXPECT_FALSE(back);
            if (!back) {
                EXPECT_EQ(back.error(), make_error_code(coding_error::truncated));
            }
        }
        auto back = co_await decompressed(GetParam(), bytes + "x", 50);
        EXPECT_FALSE(back);
        if (!back) {
            EXPECT_NE(back.error(), make_error_code(coding_error::truncated));
        }
    });
}

TEST_P(a_compressed_stream, may_become_as_large_as_its_limit_and_no_larger) {
    const std::string bytes = coracle::testing::encoded(GetParam(), text_of(2000));
    for (const std::uint64_t limit : {1999U, 2000U, 2001U}) {
        block_on([&]() -> task<> {
            auto back = co_await decompressed(GetParam(), bytes, 50, {.decoded = limit});
            EXPECT_EQ(back.has_value(), limit >= 2000);
            if (back) co_return;
            EXPECT_EQ(back.error(), make_error_code(coding_error::too_large));
            EXPECT_EQ(back.error().subject(), "decoding_limits::decoded");
        });
    }
}

TEST_P(a_compressed_stream, names_the_ratio_when_it_is_compressed_too_far) {
    const std::string bytes = coracle::testing::encoded(GetParam(), std::string(500'000, 'x'));
    block_on([&]() -> task<> {
        auto back = co_await decompressed(GetParam(), bytes, 50, {.ratio = 10, .ratio_from = 1000});
        EXPECT_FALSE(back);
        if (back) co_return;
        EXPECT_EQ(back.error(), make_error_code(coding_error::ratio_exceeded));
        EXPECT_EQ(back.error().subject(), "decoding_limits::ratio");
    });
}

TEST_P(a_compressed_stream, is_smaller_with_a_higher_level) {
    const std::string text = text_of(100'000);
    block_on([&]() -> task<> {
        const std::string low = co_await compressed(GetParam(), text, 1);
        const std::string high = co_await compressed(GetParam(), text, 9);
        EXPECT_LT(high.size(), low.size());
        // Beyond the ends of the scale are its ends.
        const std::string highest = co_await compressed(GetParam(), text.substr(0, 1000), 1000);
        const std::string lowest = co_await compressed(GetParam(), text.substr(0, 1000), -1000);
        EXPECT_LE(highest.size(), lowest.size());
        auto back = co_await decompressed(GetParam(), highest, 100);
        EXPECT_TRUE(back && *back == text.substr(0, 1000));
    });
}

TEST_P(a_compressed_stream, can_be_read_as_well_as_written_whatever_the_pieces) {
    for (const std::string& text : {std::string(), text_of(5000), noise_of(70'000)}) {
        block_on([&]() -> task<> {
            for (const std::size_t piece : {1U, 100U, 100'000U}) {
                pieces_source plain(text, piece);
                io::compressing_source packed(plain, GetParam());
                recording_sink to;
                EXPECT_GT(co_await io::copy(packed, to), 0U);
                auto back = co_await decompressed(GetParam(), to.text(), 100);
                EXPECT_TRUE(back && *back == text);
            }
        });
    }
}

TEST_P(a_compressed_stream, that_is_read_into_little_room_is_the_same) {
    const std::string text = text_of(5000);
    block_on([&]() -> task<> {
        pieces_source plain(text, 300);
        io::compressing_source packed(plain, GetParam());
        std::string bytes;
        char byte = 0;
        for (;;) {
            auto n = co_await packed.read_some({&byte, 1});
            EXPECT_TRUE(n);
            if (!n || *n == 0) break;
            bytes += byte;
        }
        // The end stays one.
        EXPECT_EQ(co_await packed.read_some({&byte, 1}), 0U);
        auto back = co_await decompressed(GetParam(), bytes, 100);
        EXPECT_TRUE(back && *back == text);
    });
}

TEST_P(a_compressed_stream, of_a_source_that_fails_fails_as_that_does) {
    block_on([]() -> task<> {
        auto [from, to] = io::pipe();
        to.fail(error(std::errc::io_error, "read"));
        io::compressing_source packed(from, GetParam());
        char room[100];
        auto n = co_await packed.read_some(room);
        EXPECT_FALSE(n);
        if (!n) {
            EXPECT_EQ(n.error(), std::errc::io_error);
        }
    });
}

TEST_P(a_compressed_stream, lets_other_tasks_run) {
    const std::string text = text_of(1024 * 1024);
    block_on([&]() -> task<> {
        recording_sink to;
        io::compressing_sink sink(to, GetParam());
        slice piece(text);
        const std::uint64_t before = loop::current()->turns();
        EXPECT_TRUE(co_await sink.write({&piece, 1}));
        EXPECT_TRUE(co_await sink.finish());
        EXPECT_GE(loop::current()->turns() - before, 30U);
        const std::uint64_t between = loop::current()->turns();
        auto back = co_await decompressed(GetParam(), to.text(), SIZE_MAX);
        EXPECT_TRUE(back && *back == text);
        EXPECT_GE(loop::current()->turns() - between, 30U);
    });
}

TEST(a_stream_that_is_not_compressed, passes_as_it_is) {
    block_on([]() -> task<> {
        const std::string bytes = co_await compressed(content_coding::identity, "plain\n");
        EXPECT_EQ(bytes, "plain\n");
        auto back = co_await decompressed(content_coding::identity, bytes, 2);
        EXPECT_TRUE(back && *back == "plain\n");
        pieces_source plain("plain\n", 2);
        io::compressing_source packed(plain, content_coding::identity);
        recording_sink to;
        EXPECT_EQ(co_await io::copy(packed, to), 6U);
        EXPECT_EQ(to.text(), "plain\n");
    });
}

}  // namespace
