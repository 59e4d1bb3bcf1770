// Runs keep-alive requests over many connections, all of them open and busy at the same time, and
// counts what went wrong: a response that is not 2xx, a connection that ends or says nothing.
//
//   keepalive_storm ADDR CONNECTIONS REQUESTS
//
// Prints "requests R errors E connections C seconds S"; ends with 0 when each request
// has a response.

#include "../support/response_head.hpp"
#include "../support/sockets.hpp"

#include <fcntl.h>
#include <sys/epoll.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <vector>

namespace {

using steady_clock = std::chrono::steady_clock;
constexpr std::string_view request = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
constexpr std::chrono::seconds patience{60};  // for the whole storm

struct connection {
    int fd = -1;
    std::size_t left = 0;  // requests that are have no response yet, with the one on its way
    std::string received;
};

class storm {
public:
    storm(std::size_t connections, std::size_t requests)
        : epoll_{epoll_create1(EPOLL_CLOEXEC)}, connections_(connections) {
        for (std::size_t i = 0; i < connections; ++i) {
            connections_[i].left = requests / connections + (i < requests % connections ? 1 : 0);
        }
    }

    // All connections stand before the first request is sent.
    void connect_all(const sockaddr_in& peer) {
        for (std::size_t i = 0; i < connections_.size(); ++i) {
            connection& each = connections_[i];
            each.fd = bench::connect_from_loopback(peer, i);
            if (each.fd < 0) {
                std::perror("connect");
                errors_ += each.left;
                each.left = 0;
                continue;
            }
            ++opened_;
            fcntl(each.fd, F_SETFL, fcntl(each.fd, F_GETFL) | O_NONBLOCK);
            epoll_event event{};
            event.events = EPOLLIN;
            event.data.u64 = i;
            if (epoll_ctl(epoll_, EPOLL_CTL_ADD, each.fd, &event) != 0) bench::fail("epoll_ctl");
        }
    }

    void run() {
        const auto deadline = steady_clock::now() + patience;
        for (connection& each : connections_) {
            if (each.left != 0) {
                ++busy_;
                if (!bench::send_all(each.fd, request)) fail_connection(each);
            }
        }
        epoll_event events[512];
        while (busy_ != 0 && steady_clock::now() < deadline) {
            const int count = epoll_wait(epoll_, events, 512, 1000);
            for (int i = 0; i < count; ++i) receive(connections_[events[i].data.u64]);
        }
        for (connection& each : connections_) {
            errors_ += each.left;  // what the deadline left without a response
            if (each.fd >= 0) close(each.fd);
        }
    }

    std::size_t done() const { return done_; }
    std::size_t errors() const { return errors_; }
    std::size_t opened() const { return opened_; }

private:
    void receive(connection& each) {
        if (each.fd < 0) return;
        char buffer[16384];
        const ssize_t size = recv(each.fd, buffer, sizeof buffer, 0);
        if (size < 0 && errno == EAGAIN) return;
        if (size <= 0) return fail_connection(each);
        each.received.append(buffer, static_cast<std::size_t>(size));
        const bench::response_head head = bench::read_response_head(each.received);
        if (head.status == 0) return;
        const std::size_t whole = head.head_size + head.body_size;
        if (each.received.size() < whole) return;
        // One request is out at a time: more bytes than its response, or any without one, are
        // wrong.
        if (head.status / 100 != 2 || each.left == 0 || each.received.size() > whole) {
            return fail_connection(each);
        }
        ++done_;
        each.received.clear();
        if (--each.left == 0) {
            --busy_;
        } else if (head.closes || !bench::send_all(each.fd, request)) {
            fail_connection(each);
        }
    }

    // All that the connection had left to do failed; one that ends with nothing left is an error
    // as well, for an idle keep-alive connection is to stay.
    void fail_connection(connection& each) {
        if (each.left != 0) --busy_;
        errors_ += each.left != 0 ? each.left : 1;
        each.left = 0;
        close(each.fd);
        each.fd = -1;
    }

    int epoll_;
    std::vector<connection> connections_;
    std::size_t busy_ = 0;
    std::size_t opened_ = 0;
    std::size_t done_ = 0;
    std::size_t errors_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    const std::size_t connections = argc == 4 ? std::strtoul(argv[2], nullptr, 10) : 0;
    if (connections == 0) {
        std::fprintf(stderr, "usage: keepalive_storm ADDR CONNECTIONS REQUESTS\n");
        return 2;
    }
    bench::raise_descriptor_limit();
    const std::size_t requests = std::strtoul(argv[3], nullptr, 10);
    storm load{connections, requests};
    const auto begin = steady_clock::now();
    load.connect_all(bench::parse_address(argv[1]));
    load.run();
    const std::chrono::duration<double> spent = steady_clock::now() - begin;
    std::printf("requests %zu errors %zu connections %zu seconds %.3f\n", load.done(),
                load.errors(), load.opened(), spent.count());
    return load.errors() == 0 && load.done() == requests ? 0 : 1;
}
