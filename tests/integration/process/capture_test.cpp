#include "support/eventually.hpp"
#include "support/on_each_backend.hpp"

#include <coracle/process/command.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <string>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::backend_name;
using coracle::testing::eventually;
using coracle::testing::has_children;
using coracle::testing::on_each_backend;
using process::redirect;

namespace {

class capture : public on_each_backend {
protected:
    void TearDown() override {
        EXPECT_TRUE(eventually([] { return !has_children(); }));
    }
};

INSTANTIATE_TEST_SUITE_P(each_backend, capture, coracle::testing::system_backends(), backend_name);

std::string pattern(std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i != size; ++i) text[i] = static_cast<char>(i * 7 + i / 251);
    return text;
}

}  // namespace

TEST_P(capture, refuses_an_input_that_nobody_could_write_to) {
    run([]() -> task<> {
        process::command c("cat");
        c.input(redirect::pipe());
        auto capturing = c.capture();
        const auto got = co_await as_result(capturing);
        EXPECT_TRUE(!got && got.error() == std::errc::invalid_argument);
    });
}

TEST_P(capture, keeps_output_and_error_apart_or_together) {
    run([]() -> task<> {
        process::command c = process::shell("echo out; echo err >&2; exit 3");
        const process::captured apart = co_await c.capture();
        EXPECT_EQ(apart.output, "out\n");
        EXPECT_EQ(apart.error, "err\n");
        EXPECT_EQ(apart.status.code(), 3);
        EXPECT_FALSE(apart.left_open);
        process::command both = process::shell("echo out; echo err >&2; cat");
        both.error(redirect::output());
        const process::captured together = co_await both.capture();
        EXPECT_EQ(together.output, "out\nerr\n");
        EXPECT_EQ(together.error, "");
    });
}

TEST_P(capture, moves_ten_megabytes_in_and_out_at_the_same_time) {
    run([]() -> task<> {
        const std::string text = pattern(10'000'000);
        process::command c("cat");
        c.input(redirect::text(text));
        const process::captured got = co_await c.capture();
        EXPECT_TRUE(got.output == text);

        process::command piped("cat");
        piped.input(redirect::pipe()).output(redirect::pipe());
        process::child cat = co_await piped.start();
        const auto feed = [&]() -> task<> {
            co_await cat.input().send(text);
            cat.close_input();
        };
        const auto read = [&]() -> task<std::string> {
            std::string all;
            while (auto piece = co_await as_result(cat.output().receive())) all += piece->view();
            co_return all;
        };
        auto [nothing, all] = co_await when_all(feed(), read());
        EXPECT_TRUE(all == text);
        EXPECT_TRUE((co_await cat.wait()).success());
    });
}

TEST_P(capture, takes_as_much_as_its_limits_and_not_a_byte_more) {
    run([]() -> task<> {
        process::capture_limits limits;
        limits.output = limits.error = 10;
        process::command fits = process::shell("printf 1234567890; printf 0987654321 >&2");
        const process::captured all = co_await fits.capture(limits);
        EXPECT_EQ(all.output + all.error, "12345678900987654321");
        process::command more = process::shell("printf 12345678901");
        auto r = co_await as_result(more.capture(limits));
        EXPECT_TRUE(!r && r.error() == errc::limit_exceeded);
        EXPECT_EQ(r.error().subject(), "capture_limits::output (10 bytes) of /bin/sh");
        process::command error = process::shell("printf 12345678901 >&2");
        r = co_await as_result(error.capture(limits));
        EXPECT_TRUE(!r && r.error() == errc::limit_exceeded);
        EXPECT_NE(r.error().subject().find("capture_limits::error"), std::string::npos);
    });
}

TEST_P(capture, ends_a_process_that_writes_for_ever) {
    run([]() -> task<> {
        process::capture_limits limits;
        limits.output = 1'000'000;
        process::command c("yes");
        auto r = co_await as_result(c.capture(limits));
        EXPECT_TRUE(!r && r.error() == errc::limit_exceeded);
        EXPECT_FALSE(has_children());
        // One that writes only to one of the two, and heeds nothing.
        process::command deaf =
            process::shell("trap '' TERM PIPE; echo 12345678901 >&2; exec sleep 1000");
        limits.error = 10;
        deaf.grace(10ms);
        r = co_await as_result(deaf.capture(limits));
        EXPECT_TRUE(!r && r.error() == errc::limit_exceeded);
        EXPECT_FALSE(has_children());
    });
}

TEST_P(capture, does_not_wait_for_ever_for_what_the_process_has_left_running) {
    run([]() -> task<> {
        process::capture_limits limits;
        limits.linger = 10ms;
        process::command c = process::shell("echo done; sleep 1000 & echo $! >&2");
        const process::captured got = co_await c.capture(limits);
        EXPECT_EQ(got.output, "done\n");
        EXPECT_TRUE(got.left_open);
        EXPECT_TRUE(got.status.success());
        EXPECT_EQ(::kill(std::stoi(got.error), SIGKILL), 0);
    });
}

TEST_P(capture, gives_no_cut_output_when_it_is_cancelled) {
    run([]() -> task<> {
        int of_leader[2];
        int of_rest[2];
        EXPECT_EQ(::pipe2(of_leader, O_CLOEXEC), 0);
        EXPECT_EQ(::pipe2(of_rest, O_CLOEXEC), 0);
        owned_fd leader_waits(of_leader[1]);
        // The process that it leaves running holds its output until this goes.
        const owned_fd rest_waits(of_rest[1]);
        process::command c = process::shell("(read x; echo two) <&3 & echo one; read y");
        c.input(redirect::descriptor(owned_fd(of_leader[0])));
        c.descriptor(3, owned_fd(of_rest[0]));
        const auto work = [&]() -> task<> {
            co_await c.capture();
            ADD_FAILURE() << "it has won";
        };
        const auto until_it_has_been_reaped = [&]() -> task<> {
            while (!has_children()) co_await yield();
            leader_waits.reset();
            while (has_children()) co_await yield();
        };
        EXPECT_EQ((co_await when_any(work(), until_it_has_been_reaped())).index, 1u);
    });
}

TEST_P(capture, waits_for_a_process_that_has_closed_its_output) {
    run([]() -> task<> {
        process::command c = process::shell("echo early; exec >&- 2>&-; sleep 0.02; exit 4");
        const process::captured got = co_await c.capture();
        EXPECT_EQ(got.output, "early\n");
        EXPECT_EQ(got.status.code(), 4);
    });
}

TEST_P(capture, lingers_no_longer_where_there_is_no_status) {
    std::signal(SIGCHLD, SIG_IGN);
    run([]() -> task<> {
        // The process in the background keeps the output open until its input ends.
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        const owned_fd writer(ends[1]);
        process::command c = process::shell("exec 3<&0; cat <&3 & echo hi");
        c.input(redirect::descriptor(owned_fd(ends[0])));
        const auto capturing = [&c] { return c.capture({.linger = 50ms}); };
        auto limited = with_timeout(10s, capturing);
        const auto got = co_await as_result(limited);
        EXPECT_TRUE(!got && got.error() == std::errc::no_child_process);
    });
    std::signal(SIGCHLD, SIG_DFL);
}
