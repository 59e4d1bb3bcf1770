// A server out of descriptors refuses, waits and recovers: it neither spins nor stops (row 23).

#include "support/blocking_peer.hpp"
#include "support/eventually.hpp"

#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/peer.hpp>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <vector>

namespace coracle {
namespace {

constexpr std::string_view one = "GET / HTTP/1.1\r\nHost: t\r\n\r\n";

/// The peers are a process of their own, which has the descriptors that the server has not. Told
/// a port they connect, send their request and say so; told anything more they leave.
class crowd {
public:
    crowd(unsigned size, std::string_view request) : size_(size), request_(request) {
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
        peers.reserve(size_);
        for (unsigned i = 0; i != size_; ++i) {
            if (!peers.emplace_back(port).connected()) return false;
            if (!request_.empty()) peers.back().send(request_);
        }
        char byte = 1;
        return ::write(from_[1], &byte, 1) == 1 && ::read(to_[0], &byte, 1) == 0;
    }

    unsigned size_;
    std::string_view request_;
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

http::handler one_that_waits() {
    http::router routes;
    routes.get("/", [](http::request&) { return "Hello, World!\n"; });
    routes.get("/wait", [](http::request&) -> task<http::response> {
        co_await sleep_for(std::chrono::hours(1));
        co_return "late";
    });
    return routes;
}

TEST(descriptor_limit, is_survived_without_spinning) {
    crowd peers(200, "GET /wait HTTP/1.1\r\nHost: t\r\n\r\n");
    const descriptor_limit few(64);
    testing::local_server_options o;
    o.limits.connections = 10'000;
    o.timeouts.half_closed = duration::zero();
    testing::local_server server(one_that_waits(), o);
    {
        testing::blocking_peer early(server.port());
        ASSERT_TRUE(early.send(one) && early.receive_until("World!\n"));

        ASSERT_TRUE(peers.come(server.port()));
        EXPECT_TRUE(testing::eventually([&] { return server.counters().accept_errors > 0; }));
        const double before = cpu_seconds();
        ASSERT_EQ(::poll(nullptr, 0, 1000), 0);  // the second that is measured
        EXPECT_LT(cpu_seconds() - before, 0.3);

        const http::server_counters c = server.counters();
        EXPECT_GT(c.accept_errors, 0u);
        EXPECT_LT(c.accept_errors, 100u);
        EXPECT_EQ(c.made_room, 1u) << "the early one was idle";
        EXPECT_LT(c.open, 64u);
    }
    ASSERT_TRUE(peers.leave());
    testing::blocking_peer late(server.port());
    EXPECT_TRUE(late.connected() && late.send(one) && late.receive_until("World!\n"));
}

/// 400 peers that have sent `said` and nothing more, of a server with 200 descriptors.
void expect_new_clients_served(std::string_view said, std::uint64_t made_room) {
    crowd peers(400, said);
    const descriptor_limit few(200);
    testing::local_server server(one_that_waits());
    ASSERT_TRUE(peers.come(server.port()));
    std::vector<duration> took;
    block_on([&]() -> task<> {
        for (int i = 0; i != 5; ++i) {
            const time_point began = loop::current()->now();
            testing::peer late = co_await testing::connect_peer(server.addresses().front());
            co_await late.send(std::string(one));
            co_await late.read_until("World!\n");
            took.push_back(loop::current()->now() - began);
        }
    });
    // On a busy machine one or two of them may wait for a core.
    std::ranges::sort(took);
    EXPECT_LT(took[took.size() / 2], std::chrono::seconds(5));
    const http::server_counters c = server.counters();
    EXPECT_LE(c.open, 150u) << "three quarters of the descriptors";
    EXPECT_GE(c.made_room, made_room);
    EXPECT_EQ(c.accept_errors, 0u);
    EXPECT_TRUE(peers.leave());
}

TEST(descriptor_limit, does_not_keep_a_new_client_waiting_for_idle_ones) {
    expect_new_clients_served("", 250);
}

/// They get a GOAWAY, and do not close for it.
TEST(descriptor_limit, does_not_keep_a_new_client_waiting_for_idle_ones_of_http_2) {
    constexpr char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";
    expect_new_clients_served({preface, sizeof preface}, 250);
}

}  // namespace
}  // namespace coracle
