// Many connections that have bytes at the same time.

#include "support/backends.hpp"
#include "support/sanitized.hpp"

#include <coracle/net/socket.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/owned_fd.hpp>
#include <coracle/runtime/task_group.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using namespace coracle;
using namespace coracle::testing;

namespace {

class crowd : public ::testing::TestWithParam<backend_case> {
protected:
    loop_on on{GetParam()};
};

/// A connection whose other end belongs to a client without a loop.
struct served_connection {
    served_connection() {
        int ends[2];
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
        client = owned_fd(ends[0]);
        server = *net::socket::adopt(*loop::current(), ends[1], {});
    }

    owned_fd client;
    std::unique_ptr<net::socket> server;
    unsigned received = 0;
};

/// Sends a byte on each connection, and another when one comes back.
void play_clients(const std::vector<served_connection>& all, const std::atomic<bool>& stop) {
    char byte = 'x';
    for (const auto& one : all) EXPECT_EQ(::write(one.client.get(), &byte, 1), 1);
    while (!stop) {
        for (const auto& one : all) {
            if (::read(one.client.get(), &byte, 1) == 1) {
                EXPECT_EQ(::write(one.client.get(), &byte, 1), 1);
            }
        }
    }
}

/// The requests that this process has given to its rings.
std::uint64_t requests_made() {
    std::uint64_t all = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        if (std::filesystem::read_symlink(entry, gone) != "anon_inode:[io_uring]") continue;
        std::ifstream info("/proc/self/fdinfo/" + entry.path().filename().string());
        for (std::string line; std::getline(info, line);) {
            if (line.starts_with("SqTail:")) all += std::stoull(line.substr(7));
        }
    }
    return all;
}

/// Raises the limit of descriptors, and gives how many pairs of them it allows.
std::size_t pairs_at_most(std::size_t wanted) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    return std::min<std::size_t>(wanted, (limit.rlim_cur - 100) / 2);
}

}  // namespace

/// A connection that has bytes again must not overtake those that wait: a request of io_uring that
/// is made anew completes before those that stand.
TEST_P(crowd, is_served_in_turn) {
    constexpr unsigned messages = 24;
    const std::size_t count = pairs_at_most(fewer_if_sanitized(9000));
    const auto f = [&]() -> task<> {
        std::vector<served_connection> all(count);
        std::optional<unsigned> fewest;  // when the first has them all
        const auto serve = [&](served_connection& one) -> task<> {
            while (one.received != messages) {
                static_cast<void>(co_await one.server->receive());
                if (++one.received != messages) co_await one.server->send("x");
            }
            if (!fewest) {
                fewest = std::ranges::min_element(all, {}, &served_connection::received)->received;
            }
        };
        const auto serve_all = [&](task_group& g) -> task<> {
            for (auto& one : all) g.spawn([&] { return serve(one); });
            co_return;
        };
        std::atomic<bool> stop{false};
        std::thread clients([&] { play_clients(all, stop); });
        co_await with_task_group(serve_all);
        stop = true;
        clients.join();
        EXPECT_GE(fewest.value_or(0), messages / 4) << *fewest;
    };
    on.run(f);
}

INSTANTIATE_TEST_SUITE_P(each_backend, crowd, ::testing::ValuesIn(each_backend()),
                         [](const auto& case_of) { return case_of.param.name; });

/// There are buffers to receive into for 512 connections at once: the receives of the others would
/// end for each message.
TEST(uring_backend, makes_no_request_for_each_message_of_a_crowd) {
    auto b = coracle::detail::uring_backend::open();
    if (!b) GTEST_SKIP() << "there is no io_uring here";
    loop_on on(*std::move(b));
    constexpr std::size_t count = 1500;
    constexpr unsigned to_settle = 6;
    constexpr unsigned rounds = to_settle + 4;
    ASSERT_EQ(pairs_at_most(count), count);
    const auto f = [&]() -> task<> {
        std::vector<served_connection> all(count);
        std::size_t received = 0;
        event all_have_it;
        const auto serve = [&](served_connection& one) -> task<> {
            while (one.received != rounds) {
                static_cast<void>(co_await one.server->receive());
                ++one.received;
                if (++received % count == 0) all_have_it.set();
            }
        };
        std::uint64_t before = 0;
        const auto work = [&](task_group& g) -> task<> {
            for (auto& one : all) g.spawn([&] { return serve(one); });
            for (unsigned i = 0; i != rounds; ++i) {
                if (i == to_settle) before = requests_made();
                for (const auto& one : all) EXPECT_EQ(::write(one.client.get(), "x", 1), 1);
                co_await all_have_it.wait();
                all_have_it.reset();
            }
        };
        co_await with_task_group(work);
        EXPECT_GT(before, count);
        EXPECT_LT(requests_made() - before, count / 4);
    };
    on.run(f);
}
