#include "support/cancel_everywhere.hpp"
#include "support/eventually.hpp"
#include "support/on_each_backend.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/io/kernel_pipe.hpp>
#include <coracle/io/terminal.hpp>
#include <coracle/process/command.hpp>
#include <coracle/process/pseudo_terminal.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>

// Cancels what waits for processes and descriptors at every point; nothing is left of them.

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;
using process::redirect;

namespace {

struct process_row : cancel_row {
    static constexpr bool real = true;
    static constexpr bool waits_for_a_thread = true;
};

struct start_row : process_row {
    auto make() { return process::command("true").start(); }
};

struct run_row : process_row {
    auto make() { return process::command("true").run(); }
};

struct capture_row : process_row {
    auto make() { return process::shell("echo out; echo err >&2").capture(); }
};

struct child_row : process_row {
    std::optional<process::child> child;
    task<> prepare() {
        process::command cat("cat");
        cat.input(redirect::pipe()).process_group();
        child.emplace(co_await cat.start());
    }
    task<> help() {
        co_await turns(3);
        child->close_input();
    }
    task<> finish() { co_await child->wait(); }
};

struct wait_row : child_row {
    static constexpr bool again = true;
    auto make() { return child->wait(); }
};

struct wait_or_end_row : child_row {
    auto make() { return child->wait_or_end(); }
    task<> finish() {
        EXPECT_TRUE(child->status());
        co_return;
    }
};

struct terminate_row : child_row {
    auto make() { return child->terminate(1h); }
};

struct pipe_row : cancel_row {
    static constexpr bool real = true;
    io::kernel_pipe pipe;
    task<> prepare() {
        auto both = io::make_pipe();
        EXPECT_TRUE(both);
        pipe = *std::move(both);
        co_return;
    }
};

struct receive_row : pipe_row {
    static constexpr bool again = true;
    auto make() { return pipe.reader->receive(); }
    task<> help() {
        co_await turns(3);
        co_await pipe.writer->send("xx");
    }
};

struct send_row : pipe_row {
    std::string bytes = std::string(200'000, 'x');
    auto make() { return pipe.writer->send(bytes); }
    task<> help() {
        co_await turns(3);
        for (;;) {
            const auto receives = [this] { return pipe.reader->receive(); };
            auto r = co_await as_result(with_timeout(1ms, receives));
            if (!r) break;
        }
    }
};

struct fifo_row : cancel_row {
    static constexpr bool real = true;
    static constexpr bool waits_for_a_thread = true;
    temporary_directory directory;
    std::unique_ptr<io::descriptor_stream> reader;
    std::string path() const { return directory.path() / "fifo"; }
    task<> prepare() {
        EXPECT_EQ(::mkfifo(path().c_str(), 0600), 0);
        co_return;
    }
    auto make() { return io::open_fifo(path(), io::fifo_end::write); }
    task<> help() {
        co_await turns(3);
        reader = co_await io::open_fifo(path(), io::fifo_end::read);
    }
};

struct password_row : cancel_row {
    static constexpr bool real = true;
    static constexpr bool waits_for_a_thread = true;  // one of the system's carries what is typed
    std::optional<process::pseudo_terminal> terminal;
    owned_fd slave;
    task<> prepare() {
        auto t = process::pseudo_terminal::open();
        EXPECT_TRUE(t);
        terminal.emplace(*std::move(t));
        auto fd = terminal->open_slave();
        EXPECT_TRUE(fd);
        slave = *std::move(fd);
        co_return;
    }
    auto make() {
        io::password_options o;
        o.fd = slave.get();
        return io::read_password("? ", o);
    }
    task<> help() {
        co_await turns(3);
        co_await terminal->stream().send("secret\n");
    }
};

struct window_changes_row : password_row {
    static constexpr bool again = true;
    std::optional<io::window_changes> changes;
    task<> prepare() {
        co_await password_row::prepare();
        changes.emplace(io::terminal(slave.get()));
    }
    auto make() { return changes->next(); }
    task<> help() {
        co_await turns(4);
        ::raise(SIGWINCH);
    }
    task<> finish() {
        // One that a cancelled wait has left.
        ::raise(SIGWINCH);
        EXPECT_EQ(co_await changes->next(), (io::window_size{80, 24}));
    }
};

class cancel_processes : public ::testing::TestWithParam<cancel_case> {};

INSTANTIATE_TEST_SUITE_P(everything, cancel_processes,
                         ::testing::Values(row<start_row>("command::start()"),
                                           row<run_row>("command::run()"),
                                           row<capture_row>("command::capture(limits)"),
                                           row<wait_row>("child::wait()"),
                                           row<wait_or_end_row>("child::wait_or_end(grace)"),
                                           row<terminate_row>("child::terminate(grace)"),
                                           row<receive_row>("byte_stream::receive(n)"),
                                           row<send_row>("byte_stream::send(pieces)"),
                                           row<fifo_row>("io::open_fifo(path, end)"),
                                           row<password_row>("io::read_password(prompt)"),
                                           row<window_changes_row>("window_changes::next()")),
                         [](const auto& row) { return test_name(row.param.name); });

}  // namespace

TEST_P(cancel_processes, leaves_no_process_and_no_descriptor) {
    const std::size_t before = open_descriptors();
    GetParam().run();
    // A process that was killed is reaped by a thread of the pool.
    EXPECT_TRUE(eventually([&] { return !has_children() && open_descriptors() == before; }))
        << open_descriptors() << " descriptors, before " << before;
}
