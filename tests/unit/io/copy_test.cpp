#include "support/connected.hpp"
#include "support/content.hpp"
#include "support/pieces.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/fs/file.hpp>
#include <coracle/io/copy.hpp>
#include <coracle/io/files.hpp>
#include <coracle/io/memory.hpp>
#include <coracle/io/reader.hpp>
#include <coracle/io/streams.hpp>
#include <coracle/io/writer.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

// Files and sockets are the system's here: on the backend of CORACLE_BACKEND.

using namespace coracle;
using coracle::testing::connected;
using coracle::testing::noise_of;
using coracle::testing::pieces_source;
using coracle::testing::read_exactly;
using coracle::testing::recording_sink;
using coracle::testing::temporary_directory;

namespace {

std::string content_of(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(a_copy, moves_everything_whatever_the_pieces) {
    const std::string text = noise_of(1000);
    for (const std::size_t piece : {1U, 7U, 999U, 1000U, 2000U}) {
        block_on([&]() -> task<> {
            pieces_source from(text, piece);
            recording_sink to;
            EXPECT_EQ(co_await io::copy(from, to, {.block = 64}), text.size());
            EXPECT_EQ(to.text(), text);
            EXPECT_EQ(to.flushes(), 0U);
            EXPECT_FALSE(to.finished());
        });
    }
}

TEST(a_copy, stops_at_its_limit_and_leaves_the_rest) {
    const std::string text = noise_of(1000);
    for (const std::uint64_t limit : {0U, 1U, 63U, 64U, 65U, 999U, 1000U, 1001U}) {
        block_on([&]() -> task<> {
            io::memory_source from(text);
            recording_sink to;
            const auto expected = std::min<std::uint64_t>(limit, 1000);
            EXPECT_EQ(co_await io::copy(from, to, {.limit = limit, .block = 64}), expected);
            EXPECT_EQ(to.text(), text.substr(0, expected));
            EXPECT_EQ(from.left().size(), 1000 - expected);
        });
    }
}

TEST(a_copy, has_a_block_whatever_is_asked_for) {
    const std::string text = noise_of(1000);
    for (const std::uint64_t limit : {std::uint64_t{700}, UINT64_MAX}) {
        block_on([&]() -> task<> {
            pieces_source from(text, 300);
            recording_sink to;
            const auto expected = std::min<std::uint64_t>(limit, 1000);
            EXPECT_EQ(co_await io::copy(from, to, {.limit = limit, .block = 0}), expected);
            EXPECT_EQ(to.text(), text.substr(0, expected));
        });
    }
}

TEST(a_copy, tells_its_progress) {
    const std::string text = noise_of(1000);
    block_on([&]() -> task<> {
        pieces_source from(text, 300);
        recording_sink to;
        std::vector<std::uint64_t> told;
        auto progress = [&](std::uint64_t bytes) { told.push_back(bytes); };
        co_await io::copy(from, to, {}, progress);
        EXPECT_EQ(told, (std::vector<std::uint64_t>{300, 600, 900, 1000}));
    });
}

TEST(a_copy, says_how_far_it_came_before_it_failed) {
    const std::string text = noise_of(1000);
    block_on([&]() -> task<> {
        pieces_source from(text, 300);
        from.fails_at_end(error(std::errc::io_error, "read"));
        recording_sink to;
        auto read = co_await as_result(io::copy(from, to));
        EXPECT_FALSE(read);
        if (!read) {
            EXPECT_EQ(read.error(), std::errc::io_error);
            EXPECT_EQ(read.error().bytes(), 1000U);
        }
        pieces_source again(text, 300);
        recording_sink full(700);
        auto written = co_await as_result(io::copy(again, full));
        EXPECT_FALSE(written);
        if (!written) {
            EXPECT_EQ(written.error(), std::errc::no_space_on_device);
            EXPECT_EQ(written.error().bytes(), 600U);
        }
    });
}

TEST(a_copy, of_what_is_always_there_lets_other_tasks_run) {
    const std::string text(4 * 1024 * 1024, 'x');
    block_on([&]() -> task<> {
        io::memory_source from(text);
        io::null_sink to;
        const std::uint64_t before = loop::current()->turns();
        EXPECT_EQ(co_await io::copy(from, to), text.size());
        EXPECT_GE(loop::current()->turns() - before, 7U);
    });
}

class copied_files : public ::testing::Test {
protected:
    temporary_directory all_;
    std::string text_ = noise_of(3'000'000);
    std::string path_ = all_.write("from", text_);
    std::string other_ = all_.path() / "to";
};

TEST_F(copied_files, hold_the_same_from_where_both_stand) {
    block_on([&]() -> task<> {
        fs::file in = co_await fs::open(path_);
        fs::file out = co_await fs::open(other_, fs::rewrite);
        io::file_source from(in, 1000);
        io::file_sink to(out, 10);
        std::uint64_t told = 0;
        auto progress = [&](std::uint64_t bytes) { told = bytes; };
        EXPECT_EQ(co_await io::copy(from, to, {.limit = 2'000'000}, progress), 2'000'000U);
        EXPECT_EQ(told, 2'000'000U);
        EXPECT_EQ(from.position(), 2'001'000U);
        EXPECT_EQ(to.position(), 2'000'010U);
        EXPECT_EQ(co_await io::copy(from, to), text_.size() - 2'001'000);
    });
    EXPECT_EQ(content_of(other_), std::string(10, '\0') + text_.substr(1000));
}

TEST_F(copied_files, hold_the_same_when_the_system_cannot_do_it) {
    block_on([&]() -> task<> {
        fs::file in = co_await fs::open(path_);
        // Files that are appended to are refused by copy_file_range(2).
        fs::file out = co_await fs::open(other_, fs::append_to);
        io::file_source from(in);
        io::file_sink to(out);
        EXPECT_EQ(co_await io::copy(from, to), text_.size());
    });
    EXPECT_EQ(content_of(other_), text_);
}

TEST_F(copied_files, may_have_no_size_beforehand) {
    block_on([&]() -> task<> {
        fs::file in = co_await fs::open("/proc/self/status");
        io::file_source from(in);
        std::string got;
        io::memory_sink memory(got);
        EXPECT_GT(co_await io::copy(from, memory), 100U);
        fs::file again = co_await fs::open("/proc/self/status");
        fs::file out = co_await fs::open(other_, fs::rewrite);
        io::file_source source(again);
        io::file_sink to(out);
        EXPECT_GT(co_await io::copy(source, to), 100U);
    });
    EXPECT_TRUE(content_of(other_).starts_with("Name:"));
}

TEST_F(copied_files, go_over_a_socket) {
    block_on([&]() -> task<> {
        auto both = co_await connected();
        fs::file in = co_await fs::open(path_);
        io::file_source from(in, 5);
        io::stream_sink to(*both.client);
        const auto send = [&]() -> task<> {
            EXPECT_EQ(co_await io::copy(from, to), text_.size() - 5);
            EXPECT_EQ(from.position(), text_.size());
            both.client->shutdown_output();
        };
        fs::file out = co_await fs::open(other_, fs::rewrite);
        io::stream_source source(*both.server);
        io::file_sink sink(out);
        auto sending = send();
        co_await when_all(std::move(sending), io::copy(source, sink));
    });
    EXPECT_EQ(content_of(other_), text_.substr(5));
}

TEST_F(copied_files, end_where_they_were_cut_while_they_were_sent) {
    block_on([&]() -> task<> {
        auto both = co_await connected();
        fs::file in = co_await fs::open(path_, fs::read_write);
        io::file_source from(in);
        io::stream_sink to(*both.client);
        const auto send = [&]() -> task<> {
            auto cut = [&, first = true](std::uint64_t) mutable {
                if (first) std::filesystem::resize_file(path_, 1'000'000);
                first = false;
            };
            EXPECT_EQ(co_await io::copy(from, to, {}, cut), 1'000'000U);
            both.client->shutdown_output();
        };
        io::reader received(*both.server);
        auto sending = send();
        auto [nothing, got] = co_await when_all(std::move(sending), received.read_all(4'000'000));
        EXPECT_EQ(got, text_.substr(0, 1'000'000));
    });
}

TEST_F(copied_files, fail_when_the_peer_is_gone) {
    block_on([&]() -> task<> {
        auto both = co_await connected();
        both.server->close(true);
        fs::file in = co_await fs::open(path_);
        io::file_source from(in);
        io::stream_sink to(*both.client);
        auto sent = co_await as_result(io::copy(from, to));
        EXPECT_FALSE(sent);
        if (!sent) {
            EXPECT_TRUE(sent.error() == std::errc::connection_reset ||
                        sent.error() == std::errc::broken_pipe)
                << sent.error();
        }
        io::writer out(*both.client, {.block = 64});
        auto written = co_await as_result(out.write(text_));
        EXPECT_FALSE(written);
        auto flushed = co_await as_result(out.flush());
        EXPECT_FALSE(flushed);
    });
}

TEST_F(copied_files, fail_when_the_disk_is_full) {
    block_on([&]() -> task<> {
        fs::file in = co_await fs::open(path_);
        fs::file full = co_await fs::open("/dev/full", fs::write_only);
        io::file_source from(in);
        io::file_sink to(full);
        auto copied = co_await as_result(io::copy(from, to));
        EXPECT_FALSE(copied);
        if (!copied) {
            EXPECT_EQ(copied.error(), std::errc::no_space_on_device);
            EXPECT_EQ(copied.error().subject(), "/dev/full");
            EXPECT_EQ(copied.error().bytes(), 0U);
        }
        io::writer out(full);
        co_await out.write("held");
        auto flushed = co_await as_result(out.flush());
        EXPECT_FALSE(flushed);
        if (!flushed) {
            EXPECT_EQ(flushed.error(), std::errc::no_space_on_device);
        }
    });
}

TEST_F(copied_files, are_read_and_written_line_by_line) {
    block_on([&]() -> task<> {
        fs::file out = co_await fs::open(other_, fs::rewrite);
        {
            io::writer lines(out);
            for (int i = 0; i != 50'000; ++i) co_await lines.print("line {}\n", i);
            co_await lines.flush();
        }
        fs::file in = co_await fs::open(other_, fs::read_write);
        io::reader lines(in);
        int next = 0;
        while (auto line = co_await lines.read_line()) {
            EXPECT_EQ(*line, io::format("line {}", next));
            ++next;
        }
        EXPECT_EQ(next, 50'000);
        // A file may grow after its end.
        co_await in.write_at(lines.position(), "more\n");
        EXPECT_EQ(co_await lines.read_line(), "more");
        EXPECT_EQ(co_await lines.read_line(), std::nullopt);
    });
}

TEST(a_reader_of_a_socket, holds_no_block_while_it_waits) {
    block_on([]() -> task<> {
        auto both = co_await connected();
        io::reader in(*both.server);
        spawn([&]() -> task<> {
            for (int i = 0; i != 3; ++i) co_await yield();
            EXPECT_EQ(in.buffered().data(), nullptr);
            co_await both.client->send("a li");
            for (int i = 0; i != 3; ++i) co_await yield();
            co_await both.client->send("ne\nand half");
            both.client->shutdown_output();
        });
        EXPECT_EQ(co_await in.read_line(), "a line");
        EXPECT_EQ(co_await in.read_line(), "and half");
        EXPECT_FALSE(in.delimited());
        EXPECT_EQ(co_await in.read_line(), std::nullopt);
    });
}

TEST(a_reader_of_a_socket, keeps_half_a_line_when_a_read_is_cancelled) {
    block_on([]() -> task<> {
        auto both = co_await connected();
        io::reader in(*both.server);
        co_await both.client->send("half ");
        EXPECT_EQ((co_await in.peek(5)), "half ");
        for (int i = 0; i != 3; ++i) {
            auto cut =
                co_await as_result(with_timeout(std::chrono::milliseconds(1), in.read_line()));
            EXPECT_FALSE(cut);
            EXPECT_EQ(in.buffered(), "half ");
        }
        co_await both.client->send("a line\n");
        EXPECT_EQ(co_await in.read_line(), "half a line");
        EXPECT_EQ(in.position(), 12U);
    });
}

}  // namespace
