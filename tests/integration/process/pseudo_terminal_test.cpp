#include "support/on_each_backend.hpp"
#include "support/stream_reads.hpp"

#include <coracle/process/command.hpp>
#include <coracle/process/pseudo_terminal.hpp>
#include <coracle/runtime/when_all.hpp>

#include <csignal>
#include <string>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::backend_name;
using coracle::testing::has_children;
using coracle::testing::on_each_backend;
using coracle::testing::read_all;
using coracle::testing::read_until;
using process::pseudo_terminal;

namespace {

class pseudo_terminals : public on_each_backend {
protected:
    void TearDown() override { EXPECT_FALSE(has_children()); }
};

INSTANTIATE_TEST_SUITE_P(each_backend, pseudo_terminals, coracle::testing::system_backends(),
                         backend_name);

pseudo_terminal opened() {
    auto t = pseudo_terminal::open({100, 30});
    if (!t) throw_exception(t.error());
    return *std::move(t);
}

}  // namespace

TEST_P(pseudo_terminals, run_a_shell_that_sees_a_terminal_of_its_own) {
    run([]() -> task<> {
        pseudo_terminal t = opened();
        EXPECT_TRUE(t.path().starts_with("/dev/pts/"));
        process::command sh =
            process::shell("test -t 0 && test -t 1 && tty < /dev/tty && stty size");
        sh.pty(t);
        process::child c = co_await sh.start();
        EXPECT_EQ(co_await read_all(t.stream()), "/dev/tty\r\n30 100\r\n");
        EXPECT_TRUE((co_await c.wait()).success());
    });
}

/// Its number may belong to another one.
TEST_P(pseudo_terminals, open_no_slave_when_they_are_closed) {
    run([]() -> task<> {
        pseudo_terminal gone = opened();
        gone.stream().close();
        const pseudo_terminal other = opened();
        const auto slave = gone.open_slave();
        EXPECT_FALSE(slave);
        if (!slave) {
            EXPECT_EQ(slave.error(), std::errc::bad_file_descriptor);
        }
        co_return;
    });
}

TEST_P(pseudo_terminals, give_the_output_to_a_capture_and_no_input_that_is_a_pipe) {
    run([]() -> task<> {
        pseudo_terminal t = opened();
        process::command sh = process::shell("test -t 0 && test ! -t 1 && echo captured");
        sh.pty(t);
        const process::captured got = co_await sh.capture();
        EXPECT_EQ(got.output, "captured\n");
        process::command cat("cat");
        cat.pty(t).input(process::redirect::pipe());
        auto capturing = cat.capture();
        const auto none = co_await as_result(capturing);
        EXPECT_TRUE(!none && none.error() == std::errc::invalid_argument);
    });
}

TEST_P(pseudo_terminals, carry_an_interactive_session) {
    run([]() -> task<> {
        pseudo_terminal t = opened();
        process::command sh("/bin/sh");
        sh.pty(t).env("PS1", "> ").env("TERM", "dumb").unset_env("ENV");
        process::child c = co_await sh.start();
        co_await read_until(t.stream(), "> ");
        co_await t.stream().send("echo $((6 * 7))\n");
        co_await read_until(t.stream(), "\n42\r\n> ");
        EXPECT_TRUE(t.resize({132, 50}));
        EXPECT_EQ(*t.size(), (io::window_size{132, 50}));
        co_await t.stream().send("stty size\n");
        co_await read_until(t.stream(), "\n50 132\r\n> ");
        co_await t.stream().send("exit 5\n");
        co_await read_all(t.stream());
        EXPECT_EQ((co_await c.wait()).code(), 5);
    });
}

TEST_P(pseudo_terminals, carry_control_c_to_the_whole_group) {
    run([]() -> task<> {
        pseudo_terminal t = opened();
        process::command sh = process::shell("sh -c 'cat; echo never'; echo never");
        sh.pty(t);
        process::child c = co_await sh.start();
        // The second one is cat's: a shell that is about to execute it would forget the signal.
        co_await t.stream().send("ready\n");
        co_await read_until(t.stream(), "ready\r\nready\r\n");
        co_await t.stream().send("\x03");
        EXPECT_EQ((co_await c.wait()).signal(), SIGINT);
        EXPECT_EQ((co_await read_all(t.stream())).find("never"), std::string::npos);
    });
}

TEST_P(pseudo_terminals, hang_up_on_their_programs_when_they_are_closed) {
    std::signal(SIGHUP, SIG_DFL);  // nohup ignores it, for all that it starts
    run([]() -> task<> {
        pseudo_terminal t = opened();
        process::command sh = process::shell("echo ready; exec sleep 1000");
        sh.pty(t);
        process::child c = co_await sh.start();
        co_await read_until(t.stream(), "ready\r\n");
        t.stream().close();
        EXPECT_EQ((co_await c.wait()).signal(), SIGHUP);
        EXPECT_FALSE(t.size());
    });
}

TEST_P(pseudo_terminals, leave_streams_that_are_redirected_alone) {
    run([]() -> task<> {
        pseudo_terminal t = opened();
        process::command sh = process::shell("echo to the terminal; echo to the pipe >&2");
        sh.pty(t).error(process::redirect::pipe());
        process::child c = co_await sh.start();
        auto [shown, piped] = co_await when_all(read_all(t.stream()), read_all(c.error()));
        EXPECT_EQ(shown, "to the terminal\r\n");
        EXPECT_EQ(piped, "to the pipe\n");
        EXPECT_TRUE((co_await c.wait()).success());
    });
}
