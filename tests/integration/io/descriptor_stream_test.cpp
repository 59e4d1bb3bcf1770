#include "support/connected.hpp"
#include "support/content.hpp"
#include "support/on_each_backend.hpp"
#include "support/stream_reads.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/io/adapters.hpp>
#include <coracle/io/copy.hpp>
#include <coracle/io/descriptor_stream.hpp>
#include <coracle/io/kernel_pipe.hpp>
#include <coracle/io/memory.hpp>
#include <coracle/io/reader.hpp>
#include <coracle/io/streams.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/when_any.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <string>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::backend_name;
using coracle::testing::on_each_backend;
using coracle::testing::pattern;
using coracle::testing::read_all;
using coracle::testing::temporary_directory;

namespace {

class descriptor_stream : public on_each_backend {};

INSTANTIATE_TEST_SUITE_P(each_backend, descriptor_stream, coracle::testing::system_backends(),
                         backend_name);

using stream = std::unique_ptr<io::descriptor_stream>;

io::kernel_pipe pipe_of() {
    auto both = io::make_pipe();
    if (!both) throw_exception(both.error());
    return *std::move(both);
}

stream shared(int fd) {
    auto s = io::descriptor_stream::share(*loop::current(), fd, "shared");
    if (!s) throw_exception(s.error());
    return *std::move(s);
}

task<> write_and_close(io::descriptor_stream& s, std::string_view text) {
    co_await s.send(text);
    s.shutdown_output();
}

owned_fd file_with(const std::string& path, const std::string& text) {
    owned_fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(::write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::lseek(fd.get(), 0, SEEK_SET);
    return fd;
}

}  // namespace

TEST_P(descriptor_stream, carries_more_than_a_pipe_holds_and_ends) {
    run([]() -> task<> {
        auto p = pipe_of();
        const std::string text = pattern(3'000'001);
        auto [got, nothing] =
            co_await when_all(read_all(*p.reader), write_and_close(*p.writer, text));
        EXPECT_TRUE(got == text);
    });
}

TEST_P(descriptor_stream, hands_every_piece_on_as_it_comes) {
    run([]() -> task<> {
        auto there = pipe_of();
        auto back = pipe_of();
        const auto echo = [&]() -> task<> {
            for (int i = 0; i != 500; ++i) {
                buffer b = co_await there.reader->receive();
                co_await back.writer->send(b.view());
            }
        };
        const auto ask = [&]() -> task<> {
            for (int i = 0; i != 500; ++i) {
                const std::string question = std::to_string(i);
                co_await there.writer->send(question);
                buffer b = co_await back.reader->receive();
                EXPECT_EQ(b.view(), question);
            }
        };
        co_await when_all(echo(), ask());
    });
}

TEST_P(descriptor_stream, tells_of_the_end_behind_bytes_that_fit_into_one_read) {
    run([]() -> task<> {
        for (int waiting = 0; waiting != 2; ++waiting) {
            auto p = pipe_of();
            const auto write = [&]() -> task<> {
                if (waiting == 1) co_await yield();
                co_await p.writer->send("last");
                p.writer->close();
            };
            auto [nothing, got] = co_await when_all(write(), read_all(*p.reader));
            EXPECT_EQ(got, "last");
        }
    });
}

TEST_P(descriptor_stream, gathers_pieces_of_which_some_are_empty) {
    run([]() -> task<> {
        auto p = pipe_of();
        slice pieces[] = {slice("one"), slice(""), slice(" two"), slice("")};
        EXPECT_EQ(co_await p.writer->send(pieces), 7u);
        buffer b = co_await p.reader->receive();
        EXPECT_EQ(b.view(), "one two");
    });
}

TEST_P(descriptor_stream, gives_an_error_and_no_signal_when_the_reader_is_gone) {
    run([]() -> task<> {
        auto p = pipe_of();
        p.reader->close();
        auto r = co_await as_result(p.writer->send("to nobody"));
        EXPECT_TRUE(!r && r.error() == std::errc::broken_pipe);
        EXPECT_NE(r.error().message().find("pipe"), std::string::npos) << r.error();
        EXPECT_EQ(p.writer->try_send("to nobody"), -EPIPE);
    });
}

TEST_P(descriptor_stream, gives_an_error_when_the_reader_leaves_while_it_waits_for_room) {
    run([]() -> task<> {
        auto p = pipe_of();
        const std::string text = pattern(1'000'000);
        const auto leave = [&]() -> task<> {
            buffer b = co_await p.reader->receive();
            p.reader->close();
        };
        const auto write = [&]() -> task<std::expected<std::size_t, error>> {
            co_return co_await as_result(p.writer->send(text));
        };
        auto [r, nothing] = co_await when_all(write(), leave());
        EXPECT_TRUE(!r && r.error() == std::errc::broken_pipe);
        EXPECT_GT(r.error().bytes(), 0u);
    });
}

TEST_P(descriptor_stream, loses_nothing_when_a_receive_is_cancelled) {
    run([]() -> task<> {
        auto p = pipe_of();
        for (int i = 0; i != 20; ++i) {
            auto first = co_await when_any(
                [&]() -> task<> { static_cast<void>(co_await p.reader->receive()); }(), yield());
            EXPECT_EQ(first.index, 1u);
            co_await p.writer->send("kept");
            buffer b = co_await p.reader->receive();
            EXPECT_EQ(b.view(), "kept");
        }
    });
}

TEST_P(descriptor_stream, takes_no_second_send_though_there_is_room_again) {
    run([]() -> task<> {
        auto both = pipe_of();
        const std::string much(1024 * 1024, 'x');
        const auto sends = [&]() -> task<> { co_await both.writer->send(much); };
        const auto sends_too = [&]() -> task<> {
            char some[4096];
            EXPECT_EQ(::read(both.reader->fd(), some, sizeof some), 4096);
            auto sent = co_await as_result(both.writer->send("y"));
            EXPECT_FALSE(sent);
            if (!sent) {
                EXPECT_EQ(sent.error(), std::errc::device_or_resource_busy);
            }
            for (std::size_t left = much.size() - 4096; left != 0;) {
                const buffer piece = co_await both.reader->receive();
                EXPECT_EQ(piece.view().find('y'), std::string_view::npos);
                left -= std::min(left, piece.size());
            }
        };
        co_await when_all(sends(), sends_too());
    });
}

TEST_P(descriptor_stream, tells_of_the_direction_that_a_descriptor_has_not) {
    run([]() -> task<> {
        auto p = pipe_of();
        auto r = co_await as_result(p.writer->receive());
        EXPECT_TRUE(!r && r.error() == std::errc::bad_file_descriptor);
        auto w = co_await as_result(p.reader->send("no"));
        EXPECT_TRUE(!w && w.error() == std::errc::bad_file_descriptor);
        p.reader->close();
        auto closed = co_await as_result(p.reader->receive());
        EXPECT_TRUE(!closed && closed.error() == std::errc::bad_file_descriptor);
    });
}

TEST_P(descriptor_stream, tells_a_watch_that_the_reader_has_gone) {
    run([]() -> task<> {
        struct watch : hangup_watch {
            bool heard = false;
            watch()
                : hangup_watch{
                      [](hangup_watch& w) noexcept { static_cast<watch&>(w).heard = true; }} {}
        } w;
        auto p = pipe_of();
        EXPECT_TRUE(p.writer->watch_hangup(&w));
        p.reader->close();
        while (!w.heard) co_await yield();
        EXPECT_TRUE(w.heard);
    });
}

TEST_P(descriptor_stream, reads_a_file_that_is_standard_input_from_where_it_stands) {
    run([]() -> task<> {
        const temporary_directory directory;
        const std::string text = pattern(300'000);
        const owned_fd fd = file_with(directory.path() / "input", text);
        ::lseek(fd.get(), 1000, SEEK_SET);
        auto s = shared(fd.get());
        EXPECT_TRUE(co_await read_all(*s) == text.substr(1000));
        EXPECT_EQ(::lseek(fd.get(), 0, SEEK_CUR), 300'000);
        EXPECT_EQ(::fcntl(fd.get(), F_GETFL) & O_NONBLOCK, 0);
    });
}

TEST_P(descriptor_stream, loses_nothing_of_a_file_to_a_receive_that_is_cancelled_too_late) {
    run([]() -> task<> {
        const temporary_directory directory;
        const std::string text = pattern(300'000);
        const owned_fd fd = file_with(directory.path() / "input", text);
        auto s = shared(fd.get());
        std::string all;
        for (int i = 0; i != 10; ++i) {
            co_await when_any([&]() -> task<> { all += (co_await s->receive(1000)).view(); }(),
                              yield());
        }
        all += co_await read_all(*s);
        EXPECT_TRUE(all == text);
    });
}

TEST_P(descriptor_stream, loses_no_line_to_a_reader_that_is_cancelled_too_late) {
    run([]() -> task<> {
        const temporary_directory directory;
        const owned_fd fd = file_with(directory.path() / "input", "one\ntwo\nthree\n");
        auto s = shared(fd.get());
        io::reader in(*s);
        std::string all;
        const auto next = [&]() -> task<> {
            const auto line = co_await in.read_line();
            all.append(line.value()).append(1, ' ');
        };
        co_await when_any(next(), yield());
        while (all.size() < 14) co_await next();
        EXPECT_EQ(all, "one two three ");
    });
}

TEST_P(descriptor_stream, gives_no_more_than_was_asked_for) {
    run([]() -> task<> {
        auto p = pipe_of();
        const std::string sent = pattern(500);
        co_await p.writer->send(sent);
        io::stream_source from(*p.reader);
        char room[5];
        auto n = co_await from.read_some(room);
        EXPECT_EQ(n.value(), 5u);
        std::string rest;
        io::memory_sink to(rest);
        auto copied = co_await io::copy(from, to, {.limit = 100});
        EXPECT_EQ(copied, 100u);
        io::limited_source some(from, 45);
        io::reader in(some);
        rest += co_await in.read_all(1000);
        EXPECT_EQ(some.left(), 0u);
        EXPECT_EQ(rest, sent.substr(5, 145));
    });
}

TEST_P(descriptor_stream, hears_of_the_end_of_a_fifo_whose_writers_were_gone_before) {
    run([]() -> task<> {
        const temporary_directory directory;
        const std::string path = directory.path() / "fifo";
        EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
        const owned_fd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
        owned_fd writer(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
        EXPECT_EQ(::write(writer.get(), "last words", 10), 10);
        writer.reset();
        auto s = shared(reader.get());
        EXPECT_EQ(co_await read_all(*s), "last words");
    });
}

TEST_P(descriptor_stream, waits_for_the_writer_of_a_fifo_again_when_that_was_cancelled) {
    run([]() -> task<> {
        const temporary_directory directory;
        const std::string path = directory.path() / "fifo";
        EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
        stream s = co_await io::open_fifo(path, io::fifo_end::read);
        for (int i = 0; i != 2; ++i) {
            auto first = co_await when_any(
                [&]() -> task<> { static_cast<void>(co_await s->receive()); }(), yield());
            EXPECT_EQ(first.index, 1u);
        }
        const auto write = [&]() -> task<> {
            stream w = co_await io::open_fifo(path, io::fifo_end::write);
            co_await w->send("came late");
        };
        auto [all, done] = co_await when_all(read_all(*s), write());
        EXPECT_EQ(all, "came late");
    });
}

TEST_P(descriptor_stream, writes_a_file_that_is_standard_output) {
    run([]() -> task<> {
        const temporary_directory directory;
        const owned_fd fd = file_with(directory.path() / "output", "");
        auto s = shared(fd.get());
        co_await s->send("one ");
        co_await s->send("two");
        char text[16] = {};
        EXPECT_EQ(::pread(fd.get(), text, sizeof text, 0), 7);
        EXPECT_STREQ(text, "one two");
    });
}

TEST_P(descriptor_stream, reads_an_end_from_the_null_device_and_zeros_from_that_of_zeros) {
    run([]() -> task<> {
        const owned_fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
        auto s = shared(null.get());
        EXPECT_EQ(co_await read_all(*s), "");
        EXPECT_EQ(co_await s->send("dropped"), 7u);
        const owned_fd zero(::open("/dev/zero", O_RDWR | O_CLOEXEC));
        auto zeros = shared(zero.get());
        buffer b = co_await zeros->receive(100);
        EXPECT_GE(b.size(), 100u);
        EXPECT_EQ(b.view().find_first_not_of('\0'), std::string_view::npos);
    });
}

TEST_P(descriptor_stream, does_not_wait_for_what_never_makes_anybody_wait) {
    run([]() -> task<> {
        const temporary_directory directory;
        const std::string file = directory.write("file", "text");
        for (const auto& [path, text] : {std::pair("/dev/null", ""), {file.c_str(), "text"}}) {
            const owned_fd fd(::open(path, O_RDONLY | O_CLOEXEC));
            auto s = shared(fd.get());
            s->wait_before_reading();
            EXPECT_EQ(co_await read_all(*s), text) << path;
        }
    });
}

TEST_P(descriptor_stream, leaves_the_flags_of_what_it_shares_alone) {
    run([]() -> task<> {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        const owned_fd reader(ends[0]);
        owned_fd writer(ends[1]);
        auto in = shared(reader.get());
        auto out = shared(writer.get());
        writer.reset();
        const std::string text = pattern(500'000);
        auto [got, nothing] = co_await when_all(read_all(*in), write_and_close(*out, text));
        EXPECT_TRUE(got == text);
        EXPECT_EQ(::fcntl(reader.get(), F_GETFL) & O_NONBLOCK, 0);
    });
}

TEST_P(descriptor_stream, shares_what_cannot_be_opened_anew_without_blocking) {
    run([]() -> task<> {
        int ends[2];
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        const owned_fd one(ends[0]);
        const owned_fd other(ends[1]);
        auto in = shared(one.get());
        auto out = shared(other.get());
        const std::string text = pattern(700'000);
        auto [got, nothing] = co_await when_all(read_all(*in), write_and_close(*out, text));
        EXPECT_TRUE(got == text);
        EXPECT_EQ(::fcntl(one.get(), F_GETFL) & O_NONBLOCK, 0);
    });
}

TEST_P(descriptor_stream, sends_a_file_into_a_pipe_and_behind_another_file) {
    run([]() -> task<> {
        const temporary_directory directory;
        const std::string text = pattern(400'000);
        const owned_fd file = file_with(directory.path() / "from", text);
        auto p = pipe_of();
        const auto send = [&]() -> task<> {
            EXPECT_EQ(co_await p.writer->send_file(file.get(), 10, 399'990), 399'990u);
            p.writer->close();
        };
        auto [got, nothing] = co_await when_all(read_all(*p.reader), send());
        EXPECT_TRUE(got == text.substr(10));

        const std::string to = directory.path() / "to";
        const owned_fd end(::open(to.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
        auto appended = shared(end.get());
        co_await appended->send("head ");
        co_await appended->send_file(file.get(), 0, 20'000);
        std::string all(20'005, '\0');
        EXPECT_EQ(::pread(end.get(), all.data(), all.size(), 0), 20'005);
        EXPECT_TRUE(all == "head " + text.substr(0, 20'000));
        auto beyond = co_await as_result(appended->send_file(file.get(), 399'999, 2));
        EXPECT_TRUE(!beyond && beyond.error().code().value() == ENODATA);
    });
}

TEST_P(descriptor_stream, hears_nothing_of_a_descriptor_that_it_has_closed) {
    run([]() -> task<> {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
        const owned_fd writer(ends[1]);
        // Whoever has a duplicate keeps what epoll knows of it.
        const owned_fd duplicate(::dup(ends[0]));
        auto s = io::descriptor_stream::adopt(*loop::current(), owned_fd(ends[0]), "pipe");
        EXPECT_TRUE(s);
        s->reset();
        co_await yield();
        const std::uint64_t before = loop::current()->backend().counters().events;
        EXPECT_EQ(::write(writer.get(), "x", 1), 1);
        for (int i = 0; i != 5; ++i) co_await yield();
        EXPECT_EQ(loop::current()->backend().counters().events, before);
    });
}

TEST_P(descriptor_stream, fails_on_a_number_that_is_not_open) {
    run([]() -> task<> {
        auto s = io::descriptor_stream::share(*loop::current(), 1'000'000, "nothing");
        EXPECT_TRUE(!s && s.error() == std::errc::bad_file_descriptor);
        auto a = io::descriptor_stream::adopt(*loop::current(), owned_fd(), "nothing");
        EXPECT_TRUE(!a && a.error() == std::errc::bad_file_descriptor);
        co_return;
    });
}

TEST_P(descriptor_stream, opens_a_fifo_whose_ends_wait_for_each_other) {
    run([]() -> task<> {
        const temporary_directory directory;
        const std::string path = directory.path() / "fifo";
        EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
        const auto read = [&]() -> task<std::string> {
            stream s = co_await io::open_fifo(path, io::fifo_end::read);
            co_return co_await read_all(*s);
        };
        const auto write = [&](std::string_view text) -> task<> {
            stream s = co_await io::open_fifo(path, io::fifo_end::write);
            co_await s->send(text);
        };
        auto [got, a] = co_await when_all(read(), write("reader first"));
        EXPECT_EQ(got, "reader first");
        auto [b, again] = co_await when_all(write("writer first"), read());
        EXPECT_EQ(again, "writer first");
    });
}

TEST_P(descriptor_stream, names_the_path_that_is_no_fifo) {
    run([]() -> task<> {
        const temporary_directory directory;
        const std::string path = directory.path() / "file";
        auto none = co_await as_result(io::open_fifo(path, io::fifo_end::read));
        EXPECT_TRUE(!none && none.error() == std::errc::no_such_file_or_directory);
        EXPECT_EQ(none.error().subject(), path);
        file_with(path, "");
        auto file = co_await as_result(io::open_fifo(path, io::fifo_end::write));
        EXPECT_TRUE(!file && file.error() == std::errc::invalid_argument);
        // The error of a FIFO without a reader.
        sockaddr_un name{};
        name.sun_family = AF_UNIX;
        const std::string at = directory.path() / "socket";
        at.copy(name.sun_path, sizeof name.sun_path - 1);
        const owned_fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        EXPECT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
        auto socket = co_await as_result(io::open_fifo(at, io::fifo_end::write));
        EXPECT_TRUE(!socket && socket.error() == std::errc::no_such_device_or_address);
    });
}
