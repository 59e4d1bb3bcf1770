#include "integration/process/starts_processes.hpp"
#include "support/no_more_descriptors.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/io/kernel_pipe.hpp>
#include <coracle/net/descriptor_limit.hpp>
#include <coracle/process/command.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/testing/simulation.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>
#include <vector>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::backend_name;
using coracle::testing::failure_of;
using coracle::testing::has_children;
using coracle::testing::heard;
using coracle::testing::no_more_descriptors;
using coracle::testing::starts_processes;
using coracle::testing::temporary_directory;
using coracle::testing::text_of;
using process::redirect;

namespace {

class command : public starts_processes {};

INSTANTIATE_TEST_SUITE_P(each_backend, command, coracle::testing::system_backends(), backend_name);

std::string fifo_in(const temporary_directory& directory, const char* name) {
    std::string path = directory.path() / name;
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    return path;
}

task<std::string> output_of(process::command cmd) {
    process::captured c = co_await cmd.capture();
    EXPECT_TRUE(c.status.success()) << c.status.to_string() << ' ' << c.error;
    co_return c.output;
}

}  // namespace

TEST_P(command, gives_the_status_and_what_was_used_up) {
    run([]() -> task<> {
        const process::exit_status zero = co_await process::command("true").run();
        EXPECT_TRUE(zero.success());
        EXPECT_EQ(zero.to_string(), "exited with 0");
        EXPECT_GT(zero.usage().peak_memory, 4096u);
        const process::exit_status seven = co_await process::shell("exit 7").run();
        EXPECT_EQ(seven.code(), 7);
        EXPECT_FALSE(seven.success());
        const process::exit_status killed = co_await process::shell("kill -KILL $$").run();
        EXPECT_EQ(killed.signal(), SIGKILL);
        EXPECT_EQ(killed.code(), -1);
        EXPECT_EQ(killed.to_string(), "killed by SIGKILL");
        const process::exit_status busy =
            co_await process::shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done").run();
        EXPECT_GT(busy.usage().user_time + busy.usage().system_time, 0ns);
    });
}

TEST_P(command, hands_on_arguments_as_they_are) {
    run([]() -> task<> {
        process::command print("printf");
        print.args("%s|", "", "a b", "$HOME", "'\"\n");
        const std::vector<std::string> more = {"x", "*"};
        print.args(more);
        EXPECT_EQ(co_await output_of(std::move(print)), "|a b|$HOME|'\"\n|x|*|");
        process::command sh("/bin/sh");
        sh.name("other").args("-c", "echo $0");
        EXPECT_EQ(co_await output_of(std::move(sh)), "other\n");
    });
}

TEST_P(command, has_the_environment_that_it_is_given) {
    ::setenv("CORACLE_TEST_KEPT", "kept", 1);
    ::setenv("CORACLE_TEST_GONE", "gone", 1);
    run([]() -> task<> {
        process::command c = process::shell("echo $CORACLE_TEST_KEPT-$CORACLE_TEST_GONE-$NEW");
        c.env("NEW", "one").env("NEW", "two").unset_env("CORACLE_TEST_GONE");
        EXPECT_EQ(co_await output_of(std::move(c)), "kept--two\n");
        process::command only("/usr/bin/env");
        only.clear_env().env("A", "1=2");
        EXPECT_EQ(co_await output_of(std::move(only)), "A=1=2\n");
    });
}

TEST_P(command, looks_for_the_program_in_the_path_of_the_process) {
    run([]() -> task<> {
        const temporary_directory directory;
        const auto tool = directory.write("bin/tool", "#!/bin/sh\necho found\n");
        ::chmod(tool.c_str(), 0755);
        process::command c("tool");
        c.env("PATH", "/nowhere:" + (directory.path() / "bin").string());
        EXPECT_EQ(co_await output_of(std::move(c)), "found\n");
        process::command relative("./tool");
        relative.directory(directory.path() / "bin");
        EXPECT_EQ(co_await output_of(std::move(relative)), "found\n");
    });
}

TEST_P(command, starts_in_its_directory) {
    run([]() -> task<> {
        const temporary_directory directory;
        process::command c("pwd");
        c.directory(directory.path());
        EXPECT_EQ(co_await output_of(std::move(c)), directory.path().string() + "\n");
        process::command none("pwd");
        none.directory(directory.path() / "missing");
        const error e = co_await failure_of(std::move(none));
        EXPECT_EQ(e, std::errc::no_such_file_or_directory);
        EXPECT_EQ(e.operation(), "chdir");
        EXPECT_EQ(e.subject(), (directory.path() / "missing").string());
    });
}

TEST_P(command, says_why_a_program_cannot_be_started_and_what_to_do) {
    run([]() -> task<> {
        const temporary_directory directory;
        const std::string plain = directory.write("plain", "echo no\n");
        process::command missing("no-such-program");
        missing.env("PATH", "/bin:/usr/bin");
        const error e = co_await failure_of(std::move(missing));
        EXPECT_EQ(e.message(),
                  "execve no-such-program (not in PATH=/bin:/usr/bin; install it or give its "
                  "path): No such file or directory");
        const error no_file = co_await failure_of(process::command(directory.path() / "none"));
        EXPECT_EQ(no_file, std::errc::no_such_file_or_directory);
        EXPECT_NE(no_file.subject().find("no such file"), std::string::npos);
        const error not_executable = co_await failure_of(process::command(plain));
        EXPECT_EQ(not_executable, std::errc::permission_denied);
        EXPECT_NE(not_executable.subject().find("chmod +x"), std::string::npos);
        ::chmod(plain.c_str(), 0755);
        const error no_interpreter = co_await failure_of(process::command(plain));
        EXPECT_EQ(no_interpreter, std::errc::executable_format_error);
        EXPECT_NE(no_interpreter.subject().find("#!"), std::string::npos);
        const std::string script = directory.write("script", "#!/no/interpreter\n");
        ::chmod(script.c_str(), 0755);
        const error lost = co_await failure_of(process::command(script));
        EXPECT_EQ(lost, std::errc::no_such_file_or_directory);
        EXPECT_NE(lost.subject().find("interpreter"), std::string::npos);
        process::command long_one("true");
        long_one.arg(std::string(10'000'000, 'x'));
        EXPECT_EQ(co_await failure_of(std::move(long_one)), std::errc::argument_list_too_long);
    });
}

TEST_P(command, refuses_what_no_program_can_be_given) {
    run([]() -> task<> {
        using namespace std::string_literals;
        EXPECT_EQ(co_await failure_of(process::command("")), std::errc::invalid_argument);
        process::command zero("true");
        zero.arg("a\0b"s);
        EXPECT_EQ(co_await failure_of(std::move(zero)), std::errc::invalid_argument);
        process::command variable("true");
        variable.env("A=B", "c");
        EXPECT_EQ(co_await failure_of(std::move(variable)), std::errc::invalid_argument);
        process::command number("true");
        number.descriptor(2, owned_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
        EXPECT_EQ(co_await failure_of(std::move(number)), std::errc::invalid_argument);
        process::command pipe("true");
        pipe.output(redirect::pipe());
        EXPECT_EQ(co_await failure_of(std::move(pipe)), std::errc::invalid_argument);
    });
}

TEST_P(command, refuses_redirections_that_lead_nowhere) {
    run([]() -> task<> {
        using namespace std::string_literals;
        process::command none("true");
        none.output(redirect::descriptor(owned_fd()));
        EXPECT_EQ(co_await failure_of(std::move(none)), std::errc::invalid_argument);
        process::command itself("true");
        itself.output(redirect::output());
        EXPECT_EQ(co_await failure_of(std::move(itself)), std::errc::invalid_argument);
        const temporary_directory directory;
        const std::string file = directory.write("kept", "kept");
        process::command emptied("true");
        emptied.output(redirect::file(file + "\0.log"s));
        EXPECT_EQ(co_await failure_of(std::move(emptied)), std::errc::invalid_argument);
        process::command appended("true");
        appended.error(redirect::append(file + "\0.log"s));
        EXPECT_EQ(co_await failure_of(std::move(appended)), std::errc::invalid_argument);
        EXPECT_EQ(text_of(file), "kept");
    });
}

TEST(command_in_a_simulation, starts_nothing) {
    coracle::testing::simulation world;
    world.run([]() -> task<> {
        process::command c("true");
        auto r = co_await as_result(c.start());
        EXPECT_TRUE(!r && r.error() == std::errc::operation_not_supported);
    });
    EXPECT_FALSE(has_children());
}

TEST_P(command, leads_streams_to_files_text_nothing_and_each_other) {
    run([]() -> task<> {
        const temporary_directory directory;
        const std::string file = directory.path() / "out";
        process::command both = process::shell("read x; echo out $x; echo err >&2");
        both.input(redirect::text("typed\n")).output(redirect::file(file));
        both.error(redirect::output());
        EXPECT_TRUE((co_await both.run()).success());
        EXPECT_EQ(text_of(file), "out typed\nerr\n");
        process::command more = process::shell("cat; echo more");
        more.input(redirect::file(file)).output(redirect::append(file));
        more.input(redirect::null());
        EXPECT_TRUE((co_await more.run()).success());
        EXPECT_EQ(text_of(file), "out typed\nerr\nmore\n");
        process::command from("cat");
        from.input(redirect::file(file));
        EXPECT_EQ(co_await output_of(std::move(from)), text_of(file));
        process::command none("cat");
        none.input(redirect::file(directory.path() / "none"));
        const error e = co_await failure_of(std::move(none));
        EXPECT_EQ(e, std::errc::no_such_file_or_directory);
        EXPECT_EQ(e.subject(), (directory.path() / "none").string());
    });
}

TEST_P(command, waits_for_the_other_end_of_a_fifo_until_it_is_cancelled) {
    run([]() -> task<> {
        const temporary_directory directory;
        const std::string fifo = fifo_in(directory, "fifo");
        process::command reads("cat");
        reads.input(redirect::file(fifo));
        process::command writes("true");
        writes.output(redirect::append(fifo));
        for (process::command* c : {&reads, &writes}) {
            const auto runs = [&]() -> task<> { co_await c->run(); };
            // Long enough for it to have begun, though nothing depends on that.
            const auto others = []() -> task<> { co_await sleep_for(5ms); };
            EXPECT_EQ((co_await when_any(runs(), others())).index, 1u);
        }
    });
}

// An end that nobody sent would be a success.
TEST_P(command, reads_no_end_from_a_fifo_without_a_writer_for_want_of_descriptors) {
    run([]() -> task<> {
        const temporary_directory directory;
        const std::string fifo = fifo_in(directory, "fifo");
        process::command reads("cat");
        reads.input(redirect::file(fifo));
        const int spare = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        const no_more_descriptors none;
        ::close(spare);
        const error e = co_await failure_of(std::move(reads));
        EXPECT_EQ(e, std::errc::too_many_files_open);
        EXPECT_EQ(e.subject(), fifo);
    });
}

TEST_P(command, reads_and_writes_fifos_as_if_it_had_opened_them) {
    run([]() -> task<> {
        const temporary_directory directory;
        const std::string in = fifo_in(directory, "in");
        const std::string out = fifo_in(directory, "out");
        process::command cat("cat");
        cat.input(redirect::file(in)).output(redirect::file(out));
        const auto starts = [&]() -> task<process::child> { co_return co_await cat.start(); };
        const auto opens = [&]() -> task<std::unique_ptr<io::descriptor_stream>> {
            co_return co_await io::open_fifo(in, io::fifo_end::write);
        };
        const auto opens_other = [&]() -> task<std::unique_ptr<io::descriptor_stream>> {
            co_return co_await io::open_fifo(out, io::fifo_end::read);
        };
        // The writer is silent until the program runs.
        auto [c, writer, reader] = co_await when_all(starts(), opens(), opens_other());
        for (const char* number : {"0", "1"}) {
            const std::string info =
                text_of("/proc/" + std::to_string(c.pid()) + "/fdinfo/" + number);
            const std::size_t at = info.find("flags:");
            EXPECT_NE(at, std::string::npos) << info;
            if (at == std::string::npos) continue;
            EXPECT_EQ(std::stoi(info.substr(at + 6), nullptr, 8) & O_NONBLOCK, 0) << info;
        }
        co_await writer->send("hello");
        writer->close();
        const buffer got = co_await reader->receive();
        EXPECT_EQ(got.view(), "hello");
        EXPECT_TRUE((co_await c.wait()).success());
    });
}

TEST_P(command, gives_the_descriptors_that_were_named_and_no_others) {
    run([]() -> task<> {
        const temporary_directory directory;
        const std::string file = directory.write("text", "from seven");
        // Somebody who knows nothing of O_CLOEXEC.
        const owned_fd low(::open("/dev/null", O_RDONLY));
        const owned_fd leak(::fcntl(low.get(), F_DUPFD, 40));
        process::command list("/bin/sh");
        list.args("-c", "cat <&7; cat <&3; for f in /proc/self/fd/*; do echo ${f##*/}; done");
        // Each stands where the other is to be.
        list.descriptor(7, owned_fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC)));
        list.descriptor(3, owned_fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC)));
        const std::string got = co_await output_of(std::move(list));
        EXPECT_TRUE(got.starts_with("from sevenfrom seven0\n1\n2\n3\n")) << got;
        EXPECT_NE(got.find("\n7\n"), std::string::npos) << got;
        EXPECT_EQ(got.find("\n" + std::to_string(leak.get()) + "\n"), std::string::npos);
    });
}

// Programs that use select(2) break beyond 1,024.
TEST_P(command, has_the_limit_of_descriptors_that_we_had) {
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    rlimit low = before;
    low.rlim_cur = 500;
    ::setrlimit(RLIMIT_NOFILE, &low);
    EXPECT_GT(net::raise_descriptor_limit(), 500U);
    EXPECT_EQ(net::raise_descriptor_limit(), before.rlim_max) << "the second time changes nothing";
    run([]() -> task<> {
        process::command sh = process::shell("ulimit -n");
        EXPECT_EQ(co_await output_of(std::move(sh)), "500\n");
    });
    ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST_P(command, gives_any_number_below_the_limit) {
    run([]() -> task<> {
        const temporary_directory directory;
        const std::string file = directory.write("text", "from the last");
        rlimit most{};
        ::getrlimit(RLIMIT_NOFILE, &most);
        const int last = static_cast<int>(most.rlim_cur) - 1;
        process::command c("/bin/cat");
        c.args("/proc/self/fd/" + std::to_string(last));
        c.descriptor(last, owned_fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC)));
        EXPECT_EQ(co_await output_of(std::move(c)), "from the last");
    });
}

TEST_P(command, gives_each_number_its_own_whatever_is_open) {
    run([]() -> task<> {
        const temporary_directory directory;
        const std::string one = directory.write("one", "one");
        const std::string other = directory.write("other", " other");
        // On its way to its number a descriptor takes one that is free, which another may be given.
        for (int number = 3; number != 40; ++number) {
            process::command c("/bin/cat");
            c.args("/proc/self/fd/" + std::to_string(number), "/proc/self/fd/200");
            c.descriptor(number, owned_fd(::open(one.c_str(), O_RDONLY | O_CLOEXEC)));
            c.descriptor(200, owned_fd(::open(other.c_str(), O_RDONLY | O_CLOEXEC)));
            EXPECT_EQ(co_await output_of(std::move(c)), "one other") << number;
        }
    });
}

TEST_P(command, keeps_no_descriptor_of_the_program_once_that_runs) {
    run([]() -> task<> {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
        const owned_fd reader(ends[0]);
        process::command c("/bin/true");
        c.output(process::redirect::descriptor(owned_fd(ends[1])));
        auto starting = c.start();
        process::child started = co_await starting;
        EXPECT_TRUE((co_await started.wait()).success());
        char byte = 0;
        EXPECT_EQ(::read(reader.get(), &byte, 1), 0);
    });
}

TEST_P(command, starts_with_all_signals_at_their_defaults) {
    std::signal(SIGUSR1, SIG_IGN);
    sigset_t some;
    sigset_t before;
    sigemptyset(&some);
    sigaddset(&some, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &some, &before);
    run([]() -> task<> {
        process::command c("cat");
        c.arg("/proc/self/status");
        const std::string got = co_await output_of(std::move(c));
        const std::string_view expected =
            "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\n";
        EXPECT_NE(got.find(expected), std::string::npos) << got;
    });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    std::signal(SIGUSR1, SIG_DFL);
}

TEST_P(command, talks_to_a_process_through_pipes) {
    run([]() -> task<> {
        process::command cat("cat");
        cat.input(redirect::pipe()).output(redirect::pipe());
        process::child c = co_await cat.start();
        EXPECT_GT(c.pid(), 0);
        EXPECT_FALSE(c.status());
        co_await c.input().send("hello");
        EXPECT_EQ(co_await heard(c), "hello");
        c.close_input();
        EXPECT_TRUE((co_await c.wait()).success());
        EXPECT_TRUE((co_await c.wait()).success());
        EXPECT_TRUE(c.status()->success());
        auto end = co_await as_result(c.output().receive());
        EXPECT_TRUE(!end && end.error() == errc::end_of_stream);
        auto late = c.signal(SIGTERM);
        EXPECT_TRUE(!late && late.error() == std::errc::no_such_process);
    });
}

TEST_P(command, says_whose_pipe_it_was_that_nobody_reads) {
    run([]() -> task<> {
        process::command c("true");
        c.input(redirect::pipe());
        process::child gone = co_await c.start();
        co_await gone.wait();
        auto r = co_await as_result(gone.input().send("hello"));
        EXPECT_TRUE(!r && r.error() == std::errc::broken_pipe);
        EXPECT_EQ(r.error().subject(), "standard input of true");
    });
}

TEST_P(command, runs_two_hundred_at_once) {
    run([]() -> task<> {
        std::vector<task<std::string>> all;
        const auto one = [](int i) -> task<std::string> {
            process::command c = process::shell("read x; echo $x");
            c.input(redirect::text(std::to_string(i) + "\n"));
            return output_of(std::move(c));
        };
        for (int i = 0; i != 200; ++i) all.push_back(one(i));
        const std::vector<std::string> got = co_await when_all(std::move(all));
        for (int i = 0; i != 200; ++i) {
            EXPECT_EQ(got[static_cast<std::size_t>(i)], std::to_string(i) + "\n");
        }
    });
}
