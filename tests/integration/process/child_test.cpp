#include "integration/process/starts_processes.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/io/kernel_pipe.hpp>
#include <coracle/process/command.hpp>
#include <coracle/runtime/readiness.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::backend_name;
using coracle::testing::failure_of;
using coracle::testing::has_children;
using coracle::testing::heard;
using coracle::testing::open_descriptors;
using coracle::testing::starts_processes;
using coracle::testing::temporary_directory;
using coracle::testing::text_of;
using process::redirect;

namespace {

class child : public starts_processes {};

/// One that says "ready", and ignores SIGTERM.
process::command deaf_one() {
    process::command c = process::shell("trap '' TERM; echo ready; while :; do sleep 1; done");
    c.output(redirect::pipe()).process_group();
    return c;
}

INSTANTIATE_TEST_SUITE_P(each_backend, child, coracle::testing::system_backends(), backend_name);

/// A process with this number, which leads a group and waits; false where we may not.
bool starts_as(int pid) {
    pid_t wanted[] = {pid};
    clone_args how{};
    how.exit_signal = SIGCHLD;
    how.set_tid = reinterpret_cast<std::uintptr_t>(wanted);
    how.set_tid_size = 1;
    const long made = ::syscall(SYS_clone3, &how, sizeof how);
    if (made == 0) {
        ::syscall(SYS_setpgid, 0, 0);
        for (;;) ::syscall(SYS_pause);
    }
    if (made < 0) return false;
    while (::getpgid(pid) != pid) ::sched_yield();
    return true;
}

}  // namespace

TEST_P(child, lets_several_tasks_wait_for_one_process) {
    run([]() -> task<> {
        process::command cat("cat");
        cat.input(redirect::pipe());
        process::child c = co_await cat.start();
        const auto wait = [&]() -> task<bool> { co_return (co_await c.wait()).success(); };
        const auto end = [&]() -> task<> {
            EXPECT_EQ((co_await when_any(wait(),
                                         [&]() -> task<bool> {
                                             co_await yield();
                                             co_return false;
                                         }()))
                          .index,
                      1u);
            c.close_input();
        };
        auto [a, b, d, e] = co_await when_all(wait(), wait(), wait(), end());
        EXPECT_TRUE(a && b && d);
    });
}

TEST_P(child, needs_no_descriptor_for_those_that_wait_beside_each_other) {
    run([]() -> task<> {
        process::command cat("cat");
        cat.input(redirect::pipe());
        process::child c = co_await cat.start();
        const std::size_t before = open_descriptors();
        const auto wait = [&]() -> task<bool> { co_return (co_await c.wait()).success(); };
        // The first one, on which the others rely, gives up.
        const auto give_up = [&]() -> task<> {
            EXPECT_FALSE(co_await as_result(with_timeout(20ms, wait)));
        };
        const auto end = [&]() -> task<> {
            co_await yield();
            EXPECT_EQ(open_descriptors(), before);
            co_await sleep_for(50ms);
            c.close_input();
        };
        auto [none, a, b, last] = co_await when_all(give_up(), wait(), wait(), end());
        EXPECT_TRUE(a && b);
    });
}

TEST_P(child, wakes_everybody_who_waits_when_somebody_else_reaps_it) {
    run([]() -> task<> {
        process::command cat("cat");
        cat.input(redirect::pipe());
        process::child c = co_await cat.start();
        const auto wait = [&]() -> task<bool> { co_return (co_await c.wait()).success(); };
        const auto reap = [&]() -> task<> {
            co_await yield();
            c.close_input();
            // The loop must not see it before we do.
            pollfd p{c.pidfd(), POLLIN, 0};
            while (::poll(&p, 1, 0) == 0) ::sched_yield();
            EXPECT_TRUE(c.status());
        };
        auto [ended, nothing] = co_await when_all(wait(), reap());
        EXPECT_TRUE(ended);
        co_await readable(c.pidfd());
    });
}

TEST_P(child, is_killed_beside_a_task_that_waits_for_its_descriptor) {
    run([]() -> task<> {
        process::command command = deaf_one();
        process::child c = co_await command.start();
        EXPECT_EQ(co_await heard(c), "ready\n");
        const auto watch = [&c]() -> task<> { co_await readable(c.pidfd()); };
        const auto end = [&c]() -> task<int> { co_return (co_await c.terminate(20ms)).signal(); };
        auto [seen, by] = co_await when_all(watch(), end());
        EXPECT_EQ(by, SIGKILL);
    });
}

TEST_P(child, is_killed_after_the_grace_when_it_ignores_sigterm) {
    run([]() -> task<> {
        process::command command = deaf_one();
        process::child c = co_await command.start();
        EXPECT_EQ(co_await heard(c), "ready\n");
        const time_point before = loop::current()->now();
        const process::exit_status status = co_await c.terminate(50ms);
        EXPECT_EQ(status.signal(), SIGKILL);
        EXPECT_GE(loop::current()->now() - before, 50ms);
    });
}

TEST_P(child, ends_at_once_when_it_heeds_sigterm_also_when_it_is_stopped) {
    run([]() -> task<> {
        process::command polite =
            process::shell("trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done");
        polite.output(redirect::pipe());
        process::child c = co_await polite.start();
        EXPECT_EQ(co_await heard(c), "ready\n");
        EXPECT_TRUE(c.signal(SIGSTOP));
        EXPECT_EQ((co_await c.terminate(1h)).code(), 9);
    });
}

TEST_P(child, ends_its_whole_group) {
    run([]() -> task<> {
        // The leader goes when it is asked to, and leaves somebody behind who does not.
        process::command leader = process::shell(
            "trap 'exit 3' TERM; (trap '' TERM; echo ready; "
            "while :; do sleep 1; done) & while :; do sleep 0.01; done");
        leader.output(redirect::pipe()).process_group();
        process::child c = co_await leader.start();
        EXPECT_EQ(co_await heard(c), "ready\n");
        EXPECT_EQ((co_await c.terminate(1h)).code(), 3);
        // The end of the pipe: nobody is left.
        auto end = co_await as_result(c.output().receive());
        EXPECT_TRUE(!end && end.error() == errc::end_of_stream);
    });
}

TEST_P(child, spares_its_group_where_the_wait_for_its_end_was_cancelled) {
    const temporary_directory directory;
    const std::string go = directory.path() / "go";
    run([&]() -> task<> {
        // A shell that reads may miss the signal, if that comes just before.
        process::command leader = process::shell(
            "trap 'echo asked' TERM; "
            "(trap '' TERM; echo ready; while kill -0 $$; do sleep 0.01; done; echo left) & "
            "n=0; until [ -e " +
            go + " ] || [ $((n += 1)) -gt 6000 ]; do sleep 0.01; done; exit 3");
        leader.output(redirect::pipe()).error(redirect::null()).process_group();
        process::child c = co_await leader.start();
        EXPECT_EQ(co_await heard(c), "ready\n");
        const auto ask = [&] { return c.terminate(1h); };
        EXPECT_FALSE(co_await as_result(with_timeout(50ms, ask)));
        EXPECT_EQ(co_await heard(c), "asked\n");
        directory.write("go", "");
        co_await readable(c.pidfd());
        auto late = c.signal(SIGTERM);
        EXPECT_TRUE(!late && late.error() == std::errc::no_such_process) << "nobody has reaped it";
        EXPECT_EQ((co_await c.wait()).code(), 3);
        EXPECT_EQ(co_await heard(c), "left\n");
    });
}

TEST_P(child, ends_its_whole_group_also_when_its_leader_ends_of_itself) {
    run([]() -> task<> {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        auto reader = io::descriptor_stream::adopt(*loop::current(), owned_fd(ends[0]), "pipe");
        owned_fd held(ends[1]);
        const auto leaving_one = [&held] {
            process::command c = process::shell("sleep 30 & exit 3");
            c.descriptor(3, owned_fd(::fcntl(held.get(), F_DUPFD_CLOEXEC, 0))).process_group();
            return c;
        };
        process::command runs = leaving_one();
        EXPECT_EQ((co_await runs.run()).code(), 3);
        process::command captures = leaving_one();
        const process::captured got = co_await captures.capture();
        EXPECT_FALSE(got.left_open);
        process::command starts = leaving_one();
        process::child waits = co_await starts.start();
        EXPECT_EQ((co_await waits.wait_or_end()).code(), 3);
        process::command more = leaving_one();
        process::child late = co_await more.start();
        co_await readable(late.pidfd());
        EXPECT_EQ((co_await late.terminate()).code(), 3);
        // The end of the pipe: nobody is left.
        held.reset();
        const auto receives = [&reader] { return (*reader)->receive(); };
        auto end = co_await as_result(with_timeout(10s, receives));
        EXPECT_TRUE(!end && end.error() == errc::end_of_stream);
    });
}

TEST_P(child, cannot_signal_a_group_that_it_has_not) {
    run([]() -> task<> {
        process::command cat("cat");
        cat.input(redirect::pipe());
        process::child c = co_await cat.start();
        auto r = c.signal_group(SIGTERM);
        EXPECT_TRUE(!r && r.error() == std::errc::operation_not_permitted);
        EXPECT_TRUE(c.kill());
        EXPECT_EQ((co_await c.wait()).signal(), SIGKILL);
    });
}

TEST_P(child, ends_with_the_task_that_waits_for_it) {
    run([]() -> task<> {
        const temporary_directory directory;
        const std::string file = directory.path() / "told";
        process::command c = process::shell(
            "trap 'echo asked > \"$FILE\"; exit' TERM; echo ready >&3; while :; do sleep 0.01; "
            "done");
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        c.env("FILE", file).descriptor(3, owned_fd(ends[1]));
        auto reader = io::descriptor_stream::adopt(*loop::current(), owned_fd(ends[0]), "pipe");
        const auto work = [&]() -> task<> { co_await c.run(); };
        const auto until_it_runs = [&]() -> task<> { co_await (*reader)->receive(); };
        EXPECT_EQ((co_await when_any(work(), until_it_runs())).index, 1u);
        // It has ended by now, and was asked to.
        EXPECT_EQ(text_of(file), "asked\n");
        auto end = co_await as_result((*reader)->receive());
        EXPECT_TRUE(!end && end.error() == errc::end_of_stream);
        EXPECT_FALSE(has_children());
    });
}

TEST_P(child, is_killed_with_the_task_that_waits_for_it_when_it_does_not_listen) {
    run([]() -> task<> {
        process::command c =
            process::shell("trap '' TERM; echo ready >&3; while :; do sleep 1; done");
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        c.descriptor(3, owned_fd(ends[1])).grace(20ms).process_group();
        auto reader = io::descriptor_stream::adopt(*loop::current(), owned_fd(ends[0]), "pipe");
        const auto work = [&]() -> task<> { co_await c.run(); };
        const auto until_it_runs = [&]() -> task<> { co_await (*reader)->receive(); };
        EXPECT_EQ((co_await when_any(work(), until_it_runs())).index, 1u);
        EXPECT_FALSE(has_children());
    });
}

TEST_P(child, is_killed_and_reaped_when_its_child_is_dropped) {
    run([]() -> task<> {
        process::command c("cat");
        c.input(redirect::pipe()).output(redirect::pipe());
        static_cast<void>(co_await c.start());
    });
    // `TearDown` looks for what is left.
}

TEST_P(child, lives_on_when_it_is_detached_and_is_reaped_by_the_loop) {
    run([]() -> task<> {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        process::command c = process::shell("read x; echo $x >&3");
        const owned_fd typed(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        c.input(redirect::text("alive\n")).descriptor(3, owned_fd(ends[1]));
        {
            process::child free = co_await c.start();
            free.detach();
        }
        auto reader = io::descriptor_stream::adopt(*loop::current(), owned_fd(ends[0]), "pipe");
        buffer b = co_await (*reader)->receive();
        EXPECT_EQ(b.view(), "alive\n");
        while (has_children()) co_await yield();
    });
}

TEST_P(child, leaves_the_children_of_other_code_alone) {
    const int other = ::fork();
    if (other == 0) ::_exit(42);
    run([]() -> task<> { EXPECT_TRUE((co_await process::command("true").run()).success()); });
    int status = 0;
    EXPECT_EQ(::waitpid(other, &status, 0), other);
    EXPECT_EQ(WEXITSTATUS(status), 42);
}

TEST_P(child, says_that_there_is_no_status_where_sigchld_is_ignored) {
    std::signal(SIGCHLD, SIG_IGN);
    run([]() -> task<> {
        EXPECT_EQ(co_await failure_of(process::command("true")), std::errc::no_child_process);
    });
    std::signal(SIGCHLD, SIG_DFL);
}

TEST_P(child, kills_no_stranger_that_has_got_its_number) {
    std::signal(SIGCHLD, SIG_IGN);
    run([]() -> task<> {
        process::command c("true");
        c.process_group();
        std::optional<process::child> ended(co_await c.start());
        co_await readable(ended->pidfd());
        const int stranger = ended->pid();
        std::signal(SIGCHLD, SIG_DFL);
        if (!starts_as(stranger)) {
            std::cout << "only root may choose the number of a process\n";
            co_return;
        }
        auto killed = ended->kill();
        EXPECT_TRUE(!killed && killed.error() == std::errc::no_such_process);
        ended.reset();
        int status = 0;
        EXPECT_EQ(::kill(stranger, SIGTERM), 0);
        while (::waitpid(stranger, &status, WNOHANG) == 0) co_await sleep_for(1ms);
        EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
    });
    std::signal(SIGCHLD, SIG_DFL);
}

TEST_P(child, gives_up_on_a_process_that_may_not_be_killed) {
    if (::geteuid() != 0) GTEST_SKIP() << "it takes root to be somebody else";
    int left = -1;
    owned_fd its_input;
    run([&]() -> task<> {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        its_input.reset(ends[1]);
        process::command c("cat");
        c.input(redirect::descriptor(owned_fd(ends[0]))).process_group();
        std::optional<process::child> roots(co_await c.start());
        left = roots->pid();
        // This thread alone.
        EXPECT_EQ(::syscall(SYS_setresuid, 65'534, 65'534, 0), 0);
        auto r = co_await as_result(roots->terminate(1ms));
        EXPECT_TRUE(!r && r.error() == std::errc::operation_not_permitted);
        roots.reset();
        EXPECT_EQ(::syscall(SYS_setresuid, 0, 0, 0), 0);
    });
    // The threads of the pool have ended although it lives.
    EXPECT_EQ(::kill(left, 0), 0);
    its_input.reset();
    EXPECT_EQ(::waitpid(left, nullptr, 0), left);
}
