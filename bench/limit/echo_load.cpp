// Loads an echo server from one thread: each of N connections sends a message, waits until all of
// it has come back, and sends the next.
//
//   echo_load 127.0.0.1:PORT CONNECTIONS SECONDS [WARM_UP_SECONDS]      times may be fractions
//
// It writes `begin` and `end` to its error stream around what it counts, so that whoever started it
// can read the server's clocks then, and its figures to its output: round trips, microseconds,
// percentiles of the latency in microseconds, errors.

#include "../support/latencies.hpp"
#include "../support/sockets.hpp"

#include <sys/epoll.h>

#include <chrono>
#include <cstring>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

constexpr std::size_t message_size = 64;

struct peer {
    int fd = -1;
    std::size_t received = 0;
    std::uint64_t number = 0;  // of the round trip, and what the message begins with
    clock_type::time_point sent;
};

class load {
public:
    load(const sockaddr_in& server, std::size_t connections)
        : peers_(connections), epoll_{epoll_create1(EPOLL_CLOEXEC)} {
        std::memset(message_, 'x', sizeof message_);
        for (std::size_t i = 0; i < connections; ++i) {
            peers_[i].fd = bench::connect_from_loopback(server, i);
            if (peers_[i].fd < 0) bench::fail("connect");
            epoll_event event{};
            event.events = EPOLLIN;
            event.data.ptr = &peers_[i];
            if (epoll_ctl(epoll_, EPOLL_CTL_ADD, peers_[i].fd, &event) != 0) {
                bench::fail("epoll_ctl");
            }
        }
    }

    void start() {
        const auto now = clock_type::now();
        for (peer& p : peers_) send_next(p, now);
    }

    // Gives how long it took, which is a little more than `seconds`.
    double run_for(double seconds) {
        const auto begin = clock_type::now();
        const auto end = begin + std::chrono::duration_cast<clock_type::duration>(
                                     std::chrono::duration<double>(seconds));
        epoll_event events[512];
        auto now = begin;
        while (now < end) {
            const int count = epoll_wait(epoll_, events, 512, 100);
            now = clock_type::now();
            for (int i = 0; i < count; ++i) receive(*static_cast<peer*>(events[i].data.ptr), now);
        }
        return std::chrono::duration<double>(now - begin).count();
    }

    void clear() {
        round_trips_ = 0;
        latencies_.clear();
    }

    std::uint64_t round_trips() const { return round_trips_; }
    std::uint64_t errors() const { return errors_; }
    double percentile(double share) const {
        return static_cast<double>(latencies_.percentile(share)) / 1000;
    }

private:
    void send_next(peer& p, clock_type::time_point now) {
        ++p.number;
        std::memcpy(message_, &p.number, sizeof p.number);
        p.sent = now;
        // The socket is empty, so a message of this size always fits.
        if (send(p.fd, message_, message_size, MSG_NOSIGNAL) != ssize_t{message_size}) lose(p);
    }

    void receive(peer& p, clock_type::time_point now) {
        char bytes[message_size];
        const ssize_t n = recv(p.fd, bytes, message_size - p.received, MSG_DONTWAIT);
        if (n <= 0) {
            lose(p);
            return;
        }
        std::memcpy(message_, &p.number, sizeof p.number);
        if (std::memcmp(bytes, message_ + p.received, static_cast<std::size_t>(n)) != 0) {
            std::fputs("echo_load: what came back is not what was sent\n", stderr);
            std::exit(1);
        }
        p.received += static_cast<std::size_t>(n);
        if (p.received != message_size) return;
        p.received = 0;
        ++round_trips_;
        const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(now - p.sent);
        latencies_.add(static_cast<std::uint64_t>(took.count()));
        send_next(p, now);
    }

    void lose(peer& p) {
        ++errors_;
        close(p.fd);
        p.fd = -1;
    }

    std::vector<peer> peers_;
    int epoll_;
    char message_[message_size];
    std::uint64_t round_trips_ = 0;
    std::uint64_t errors_ = 0;
    bench::latencies latencies_;
};

void mark(const char* text) {
    std::fputs(text, stderr);
    std::fflush(stderr);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        std::fputs("usage: echo_load 127.0.0.1:PORT CONNECTIONS SECONDS [WARM_UP_SECONDS]\n",
                   stderr);
        return 2;
    }
    bench::raise_descriptor_limit();
    load all{bench::parse_address(argv[1]), std::strtoul(argv[2], nullptr, 10)};
    all.start();
    all.run_for(argc > 4 ? std::strtod(argv[4], nullptr) : 1);
    all.clear();
    mark("begin\n");
    const double seconds = all.run_for(std::strtod(argv[3], nullptr));
    mark("end\n");
    std::printf("round_trips %llu\nduration %.0f\np50 %.1f\np99 %.1f\np999 %.1f\nerrors %llu\n",
                static_cast<unsigned long long>(all.round_trips()), seconds * 1e6,
                all.percentile(0.5), all.percentile(0.99), all.percentile(0.999),
                static_cast<unsigned long long>(all.errors()));
    return all.errors() == 0 ? 0 : 1;
}
