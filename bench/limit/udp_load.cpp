// Loads a UDP echo server from one socket: keeps N datagrams of 64 bytes in flight.
//
//   udp_load 127.0.0.1:PORT IN_FLIGHT SECONDS [WARM_UP_SECONDS]      times may be fractions
//
// It writes `begin` and `end` to its error stream around what it counts, so that whoever started it
// can read the server's clocks then, and its figures to its output: round trips, microseconds,
// percentiles of the latency in microseconds, datagrams that did not come back.

#include "../support/latencies.hpp"
#include "../support/sockets.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

constexpr std::size_t message_size = 64;
constexpr unsigned most = 64;

std::uint64_t now() {
    return static_cast<std::uint64_t>(clock_type::now().time_since_epoch().count());
}

class load {
public:
    load(const sockaddr_in& server, std::size_t in_flight)
        : fd_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)), in_flight_(in_flight) {
        const int size = 4 << 20;
        setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
        // One that is lost would be missing for ever.
        const timeval patience{0, 100'000};
        setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        if (connect(fd_, reinterpret_cast<const sockaddr*>(&server), sizeof server) != 0) {
            bench::fail("connect");
        }
        for (unsigned i = 0; i != most; ++i) {
            parts_[i] = {bytes_[i], message_size};
            headers_[i].msg_hdr.msg_iov = &parts_[i];
            headers_[i].msg_hdr.msg_iovlen = 1;
        }
    }

    double run_for(double seconds) {
        const std::uint64_t begin = now();
        const auto end = begin + static_cast<std::uint64_t>(seconds * 1e9);
        std::uint64_t at = begin;
        while (at < end) {
            refill(at);
            receive();
            at = now();
        }
        return static_cast<double>(at - begin) / 1e9;
    }
    void clear() {
        round_trips_ = lost_ = 0;
        latencies_.clear();
    }
    std::uint64_t round_trips() const { return round_trips_; }
    std::uint64_t lost() const { return lost_; }
    double percentile(double share) const {
        return static_cast<double>(latencies_.percentile(share)) / 1000;
    }

private:
    void refill(std::uint64_t at) {
        while (flying_ < in_flight_) {
            const auto n = static_cast<unsigned>(std::min<std::size_t>(most, in_flight_ - flying_));
            for (unsigned i = 0; i != n; ++i) std::memcpy(bytes_[i], &at, sizeof at);
            const int sent = sendmmsg(fd_, headers_, n, 0);
            if (sent < 0) bench::fail("sendmmsg");
            flying_ += static_cast<std::size_t>(sent);
        }
    }
    void receive() {
        const int n = recvmmsg(fd_, headers_, most, MSG_WAITFORONE, nullptr);
        if (n <= 0) {
            lost_ += flying_;
            flying_ = 0;
            return;
        }
        const std::uint64_t at = now();
        for (int i = 0; i != n; ++i) {
            std::uint64_t sent = 0;
            std::memcpy(&sent, bytes_[i], sizeof sent);
            latencies_.add(at - sent);
        }
        round_trips_ += static_cast<std::uint64_t>(n);
        flying_ -= std::min(flying_, static_cast<std::size_t>(n));
    }

    int fd_;
    std::size_t in_flight_;
    std::size_t flying_ = 0;
    char bytes_[most][message_size] = {};
    iovec parts_[most] = {};
    mmsghdr headers_[most] = {};
    std::uint64_t round_trips_ = 0;
    std::uint64_t lost_ = 0;
    bench::latencies latencies_;
};

void mark(const char* text) {
    std::fputs(text, stderr);
    std::fflush(stderr);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        std::fputs("usage: udp_load 127.0.0.1:PORT IN_FLIGHT SECONDS [WARM_UP_SECONDS]\n", stderr);
        return 2;
    }
    load all{bench::parse_address(argv[1]), std::strtoul(argv[2], nullptr, 10)};
    all.run_for(argc > 4 ? std::strtod(argv[4], nullptr) : 1);
    all.clear();
    mark("begin\n");
    const double seconds = all.run_for(std::strtod(argv[3], nullptr));
    mark("end\n");
    std::printf("round_trips %llu\nduration %.0f\np50 %.1f\np99 %.1f\np999 %.1f\nerrors %llu\n",
                static_cast<unsigned long long>(all.round_trips()), seconds * 1e6,
                all.percentile(0.5), all.percentile(0.99), all.percentile(0.999),
                static_cast<unsigned long long>(all.lost()));
}
