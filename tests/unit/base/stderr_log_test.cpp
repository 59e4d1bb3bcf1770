#include "base/stderr_log.hpp"

#include "support/allocation_count.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

using namespace coracle;
using detail::line_log;

namespace {

/// Two ends: a log writes to one, the test reads from the other.
struct ends {
    int read = -1;
    int write = -1;

    static ends of_pipe() {
        int fds[2] = {-1, -1};
        EXPECT_EQ(::pipe(fds), 0);
        return {fds[0], fds[1]};
    }
    static ends of_sockets() {
        int fds[2] = {-1, -1};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
        return {fds[0], fds[1]};
    }
    void close_reader() { ::close(std::exchange(read, -1)); }
    void close() {
        close_reader();
        ::close(std::exchange(write, -1));
    }
    /// Returns the bytes that are there now.
    std::string drain() const {
        ::fcntl(read, F_SETFL, O_NONBLOCK);
        std::string all;
        char block[65536];
        ssize_t n = 0;
        while ((n = ::read(read, block, sizeof block)) > 0) {
            all.append(block, static_cast<std::size_t>(n));
        }
        return all;
    }
};

void log_numbered(line_log& log, int count) {
    for (int i = 0; i != count; ++i) {
        log.write(log_level::info, log_layer::http, "line " + std::to_string(i));
    }
}

/// More than either kind takes.
constexpr int many = 100'000;

void loses_lines_and_says_so(ends e) {
    line_log log(e.write);
    log_numbered(log, many);  // returns, although nobody reads
    const std::string first = e.drain();
    EXPECT_TRUE(first.starts_with("info http: line 0\ninfo http: line 1\n"));
    const auto written = std::count(first.begin(), first.end(), '\n');
    EXPECT_GT(written, 100);
    EXPECT_LT(written, many);

    log.write(log_level::error, log_layer::net, "read again");
    const std::string later = e.drain();
    const std::string expected = "warning runtime: " + std::to_string(many - written) +
                                 " log lines were lost: standard error did not take them\n"
                                 "error net: read again\n";
    EXPECT_TRUE(later.ends_with(expected)) << later;
    log.write(log_level::error, log_layer::net, "all is well");
    EXPECT_EQ(e.drain(), "error net: all is well\n");
    e.close();
}

}  // namespace

TEST(stderr_log, never_waits_for_a_pipe_that_nobody_reads) {
    loses_lines_and_says_so(ends::of_pipe());
}

TEST(stderr_log, never_waits_for_a_socket_that_nobody_reads) {
    loses_lines_and_says_so(ends::of_sockets());
}

TEST(stderr_log, never_waits_for_a_terminal_that_nobody_reads) {
    const int screen = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (screen < 0 || ::grantpt(screen) != 0 || ::unlockpt(screen) != 0) {
        GTEST_SKIP() << "no pseudo terminals here";
    }
    const int terminal = ::open(::ptsname(screen), O_RDWR | O_NOCTTY | O_CLOEXEC);
    ASSERT_GE(terminal, 0);
    {
        line_log log(terminal);
        log_numbered(log, 10'000);
        EXPECT_EQ(::fcntl(terminal, F_GETFL) & O_NONBLOCK, 0);
    }
    char block[1000];
    EXPECT_GT(::read(screen, block, sizeof block), 100);
    ::close(terminal);
    ::close(screen);
}

TEST(stderr_log, leaves_the_descriptor_as_it_was) {
    ends e = ends::of_pipe();
    line_log log(e.write);
    log.write(log_level::error, log_layer::http, "x");
    EXPECT_EQ(::fcntl(e.write, F_GETFL) & O_NONBLOCK, 0) << "other processes share it";
    e.close();
}

TEST(stderr_log, survives_a_pipe_without_a_reader) {
    ends e = ends::of_pipe();
    line_log log(e.write);
    e.close_reader();
    log.write(log_level::error, log_layer::http, "x");  // would be ended by SIGPIPE
    e.close();
    log.write(log_level::error, log_layer::http, "and without a descriptor");
}

TEST(stderr_log, survives_without_memory) {
    if (!coracle::testing::counts_allocations())
        GTEST_SKIP() << "allocations are not counted in this build";
    const std::string text(200, 'x');
    for (const log_level level : {log_level::info, log_level::warning}) {
        ends e = ends::of_pipe();
        for (std::size_t n = 1;; ++n) {
            line_log log(e.write);
            coracle::testing::fail_allocation(n);
            log.write(level, log_layer::http, text);
            const bool none_failed = coracle::testing::allocation_will_fail();
            coracle::testing::fail_allocation(0);
            e.drain();
            log.write(level, log_layer::http, "better");
            EXPECT_TRUE(e.drain().contains("better")) << "allocation " << n;
            if (none_failed) break;
            ASSERT_LT(n, 100U);
        }
        e.close();
    }
}

TEST(stderr_log, throttles_warnings_and_nothing_below) {
    ends e = ends::of_pipe();
    line_log log(e.write);
    for (int i = 0; i != 9; ++i) {
        log.write(log_level::warning, log_layer::http, "w");
        log.write(log_level::debug, log_layer::http, "d");
    }
    const std::string text = e.drain();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10) << text;
    log.flush();
    EXPECT_EQ(e.drain(), "warning http: w (9 times)\n");
    e.close();
}
