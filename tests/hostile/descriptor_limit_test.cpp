// A server out of descriptors refuses, waits and recovers: it neither spins nor stops (row 23).

#include "support/blocking_peer.hpp"

#include <coracle/testing/local_server.hpp>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <stdexcept>
#include <vector>

namespace coracle {
namespace {

constexpr unsigned few_descriptors = 64;
constexpr unsigned crowd_size = 200;
constexpr std::string_view one = "GET / HTTP/1.1\r\nHost: t\r\n\r\n";

/// The peers are a process of their own, which has the descriptors that the server has not. Told
/// a port they connect and say so; told anything more they leave.
class crowd {
public:
    crowd() {
        if (::pipe(to_) != 0 || ::pipe(from_) != 0) throw std::runtime_error("pipe");
        child_ = ::fork();
        if (child_ == 0) ::_exit(run() ? 0 : 1);
    }
    ~crowd() {
        leave();
        for (const int fd : {to_[0], from_[0], from_[1]}) ::close(fd);
    }
    crowd(const crowd&) = delete;
    crowd& operator=(const crowd&) = delete;

    bool come(std::uint16_t port) {
        char byte = 0;
        return ::write(to_[1], &port, sizeof port) == sizeof port &&
               ::read(from_[0], &byte, 1) == 1;
    }
    /// True when all went well for it.
    bool leave() {
        if (child_ < 0) return false;
        ::close(to_[1]);
        int status = 0;
        ::waitpid(std::exchange(child_, -1), &status, 0);
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }

private:
    bool run() {
        ::close(to_[1]);
        std::uint16_t port = 0;
        if (::read(to_[0], &port, sizeof port) != sizeof port) return false;
        std::vector<testing::blocking_peer> peers;
        peers.reserve(crowd_size);
        for (unsigned i = 0; i != crowd_size; ++i) {
            if (!peers.emplace_back(port).connected()) return false;
        }
        char byte = 1;
        return ::write(from_[1], &byte, 1) == 1 && ::read(to_[0], &byte, 1) == 0;
    }

    int to_[2];
    int from_[2];
    pid_t child_;
};

/// Holds the soft limit of this process down.
class descriptor_limit {
public:
    explicit descriptor_limit(rlim_t most) {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit low{most, before_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &low);
    }
    ~descriptor_limit() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_;
};

double cpu_seconds() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

TEST(descriptor_limit, is_survived_without_spinning) {
    crowd peers;
    const descriptor_limit few(few_descriptors);
    http::router routes;
    routes.get("/", [](http::request&) { return "Hello, World!\n"; });
    testing::local_server server(routes);
    {
        testing::blocking_peer early(server.port());
        ASSERT_TRUE(early.send(one) && early.receive_until("World!\n"));

        ASSERT_TRUE(peers.come(server.port()));
        const double before = cpu_seconds();
        ASSERT_EQ(::poll(nullptr, 0, 1000), 0);  // the second that is measured
        EXPECT_LT(cpu_seconds() - before, 0.3);

        // Who is connected is served all the while.
        EXPECT_TRUE(early.send(one) && early.receive_until("World!\n"));
        const http::server_counters c = server.counters();
        EXPECT_GT(c.accept_errors, 0u);
        EXPECT_LT(c.accept_errors, 100u);
        EXPECT_LT(c.open, few_descriptors);
    }
    ASSERT_TRUE(peers.leave());
    testing::blocking_peer late(server.port());
    EXPECT_TRUE(late.connected() && late.send(one) && late.receive_until("World!\n"));
}

}  // namespace
}  // namespace coracle
