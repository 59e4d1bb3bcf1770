#include "support/temporary_directory.hpp"

#include <coracle/runtime/readiness.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace coracle;
using namespace std::chrono_literals;

namespace {

struct descriptors {
    explicit descriptors(bool sockets) {
        const int r = sockets ? ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd)
                              : ::pipe2(fd, O_NONBLOCK);
        EXPECT_EQ(r, 0);
    }
    descriptors(const descriptors&) = delete;
    descriptors& operator=(const descriptors&) = delete;
    ~descriptors() {
        close(0);
        close(1);
    }
    void close(int i) {
        if (fd[i] >= 0) ::close(std::exchange(fd[i], -1));
    }
    int fd[2] = {-1, -1};
};

void write_to(int fd, std::string_view text) {
    EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

void fill(int fd) {
    const std::string block(65536, 'x');
    while (::write(fd, block.data(), block.size()) > 0) {
    }
    while (::write(fd, "x", 1) > 0) {
    }
}

void drain(int fd) {
    char block[65536];
    while (::read(fd, block, sizeof block) > 0) {
    }
}

}  // namespace

TEST(readable, completes_when_a_pipe_has_bytes) {
    const descriptors p(false);
    block_on([&]() -> task<> {
        const auto writes = [&]() -> task<> {
            co_await yield();
            write_to(p.fd[1], "x");
        };
        co_await when_all(readable(p.fd[0]), writes());
        co_await readable(p.fd[0]);  // it still has them
    });
}

TEST(readable, completes_at_the_end_of_a_pipe) {
    descriptors p(false);
    block_on([&]() -> task<> {
        const auto closes = [&]() -> task<> {
            co_await yield();
            p.close(1);
        };
        co_await when_all(readable(p.fd[0]), closes());
    });
}

TEST(writable, completes_when_there_is_room_again) {
    const descriptors p(true);
    fill(p.fd[0]);
    block_on([&]() -> task<> {
        auto r = co_await as_result(with_timeout(1ms, writable(p.fd[0])));
        EXPECT_FALSE(r) << "it is full";
        const auto reads = [&]() -> task<> {
            co_await yield();
            drain(p.fd[1]);
        };
        co_await when_all(writable(p.fd[0]), reads());
    });
}

TEST(readable, and_writable_may_wait_for_one_descriptor_at_a_time) {
    const descriptors p(true);
    fill(p.fd[0]);
    block_on([&]() -> task<> {
        std::string order;
        const auto reader = [&]() -> task<> {
            co_await readable(p.fd[0]);
            order += 'r';
        };
        const auto writer = [&]() -> task<> {
            co_await writable(p.fd[0]);
            order += 'w';
        };
        const auto peer = [&]() -> task<> {
            co_await yield();
            write_to(p.fd[1], "x");
            while (order.empty()) co_await yield();
            drain(p.fd[1]);
        };
        co_await when_all(reader(), writer(), peer());
        EXPECT_EQ(order, "rw");
    });
}

TEST(readable, works_on_an_eventfd) {
    const int fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    ASSERT_GE(fd, 0);
    block_on([&]() -> task<> {
        auto r = co_await as_result(with_timeout(1ms, readable(fd)));
        EXPECT_FALSE(r);
        ::eventfd_write(fd, 1);
        co_await readable(fd);
    });
    ::close(fd);
}

TEST(readable, is_always_true_of_a_regular_file) {
    const coracle::testing::temporary_directory directory;
    const auto path = directory.write("file", "text");
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    block_on([&]() -> task<> {
        for (int i = 0; i != 200; ++i) co_await readable(fd);
        co_await writable(fd);
    });
    ::close(fd);
}

TEST(readable, refuses_a_second_wait_in_the_same_direction) {
    const descriptors p(false);
    block_on([&]() -> task<> {
        const auto second = [&]() -> task<> {
            auto r = co_await as_result(readable(p.fd[0]));
            EXPECT_FALSE(r);
            EXPECT_TRUE(r.error() == std::errc::device_or_resource_busy);
            write_to(p.fd[1], "x");
        };
        co_await when_all(readable(p.fd[0]), second());
    });
}

TEST(readable, fails_on_what_is_no_descriptor) {
    block_on([]() -> task<> {
        auto r = co_await as_result(readable(-1));
        EXPECT_FALSE(r);
        EXPECT_TRUE(r.error() == std::errc::bad_file_descriptor);
    });
}

TEST(readable, cancelled_leaves_the_descriptor_as_it_was) {
    const descriptors p(true);
    block_on([&]() -> task<> {
        for (int i = 0; i != 3; ++i) {
            auto r = co_await as_result(with_timeout(1us, readable(p.fd[0])));
            EXPECT_FALSE(r);
        }
        write_to(p.fd[1], "x");
        co_await readable(p.fd[0]);
        char c = 0;
        EXPECT_EQ(::read(p.fd[0], &c, 1), 1);
    });
}

TEST(readable, waits_for_hundreds_of_descriptors_at_once) {
    std::vector<std::unique_ptr<descriptors>> pipes;
    for (int i = 0; i != 300; ++i) pipes.push_back(std::make_unique<descriptors>(false));
    block_on([&]() -> task<> {
        std::size_t woken = 0;
        std::vector<task<>> waits;
        const auto wait = [&](int fd) -> task<> {
            co_await readable(fd);
            ++woken;
        };
        for (const auto& p : pipes) waits.push_back(wait(p->fd[0]));
        const auto writes = [&]() -> task<> {
            co_await yield();
            for (const auto& p : pipes) write_to(p->fd[1], "x");
        };
        waits.push_back(writes());
        co_await when_all(std::move(waits));
        EXPECT_EQ(woken, pipes.size());
    });
}
