// Loads a WebSocket server from one thread.
//
//   websocket_load echo      127.0.0.1:PORT CONNECTIONS SECONDS WARM_UP BYTES
//       each connection of "/" sends a binary message, waits until it has come back, and sends the
//       next
//   websocket_load broadcast 127.0.0.1:PORT CONNECTIONS SECONDS WARM_UP BYTES
//       the first connection of "/all" sends a message; when all have it, the next
//   websocket_load idle      127.0.0.1:PORT CONNECTIONS [deflate]
//       holds connections behind one message each until its input closes; says "ready" first
//
// It writes `begin` and `end` to its error stream around what it counts, so that whoever started it
// can read the server's clocks then, and its figures to its output: messages, microseconds,
// percentiles of the latency in microseconds (of a broadcast, until the last one has it), errors.

#include "../support/latencies.hpp"
#include "../support/sockets.hpp"
#include "../support/websocket_bytes.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

struct peer {
    int fd = -1;
    std::size_t number_at = 0;  // how many bytes of the frame have come
    clock_type::time_point sent;
};

constexpr std::string_view sample_key = "dGhlIHNhbXBsZSBub25jZQ==";

// Connects and shakes hands, one after the other.
int open_websocket(const sockaddr_in& server, std::size_t index, const char* path, bool deflate) {
    const int fd = bench::connect_from_loopback(server, index);
    if (fd < 0) bench::fail("connect");
    std::string request = std::string("GET ") + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n";
    request += "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n";
    request.append("Sec-WebSocket-Key: ").append(sample_key).append("\r\n");
    if (deflate) request += "Sec-WebSocket-Extensions: permessage-deflate\r\n";
    if (!bench::send_all(fd, request + "\r\n")) bench::fail("send");
    std::string head;
    char byte = 0;
    while (!head.ends_with("\r\n\r\n") && recv(fd, &byte, 1, 0) == 1) head += byte;
    if (!head.starts_with("HTTP/1.1 101 ") ||
        head.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") == head.npos) {
        std::fprintf(stderr, "no handshake: %s\n", head.c_str());
        std::exit(1);
    }
    return fd;
}

class load {
public:
    load(const sockaddr_in& server, std::size_t connections, std::size_t size, bool broadcast,
         const char* path)
        : peers_(connections), broadcast_{broadcast}, epoll_{epoll_create1(EPOLL_CLOEXEC)},
          received_(256 * 1024, '\0') {
        // Masked by 1, 2, 3, 4, as a client must; the first four bytes are the number of the
        // message.
        char head[10];
        const std::size_t n = bench::write_frame_head(head, 0x82, size);
        back_size_ = n + size;
        frame_.assign(head, n);
        frame_[1] = static_cast<char>(frame_[1] | '\x80');
        frame_ += "\1\2\3\4";
        payload_at_ = frame_.size();
        frame_.append(size, 'x');
        bench::unmask(frame_.data() + payload_at_, size, "\1\2\3\4");
        for (std::size_t i = 0; i < connections; ++i) {
            peers_[i].fd = open_websocket(server, i, path, false);
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
        if (broadcast_) {
            send_next(peers_.front(), now);
            return;
        }
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
        messages_ = 0;
        latencies_.clear();
    }

    std::uint64_t messages() const { return messages_; }
    std::uint64_t errors() const { return errors_; }
    double percentile(double share) const {
        return static_cast<double>(latencies_.percentile(share)) / 1000;
    }

private:
    void send_next(peer& p, clock_type::time_point now) {
        p.sent = now;
        if (!bench::send_all(p.fd, frame_)) lose(p);
    }

    void receive(peer& p, clock_type::time_point now) {
        const std::size_t wanted = back_size_ - p.number_at;
        const ssize_t n =
            recv(p.fd, received_.data(), std::min(wanted, received_.size()), MSG_DONTWAIT);
        if (n <= 0) {
            lose(p);
            return;
        }
        if (p.number_at == 0 && static_cast<unsigned char>(received_[0]) != 0x82) {
            std::fputs("websocket_load: what came back is not what was sent\n", stderr);
            std::exit(1);
        }
        p.number_at += static_cast<std::size_t>(n);
        if (p.number_at != back_size_) return;
        if (received_[static_cast<std::size_t>(n) - 1] != 'x') {
            std::fputs("websocket_load: what came back is not what was sent\n", stderr);
            std::exit(1);
        }
        p.number_at = 0;
        ++messages_;
        if (broadcast_ && ++have_it_ != peers_.size()) return;
        have_it_ = 0;
        peer& sender = broadcast_ ? peers_.front() : p;
        const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(now - sender.sent);
        latencies_.add(static_cast<std::uint64_t>(took.count()));
        send_next(sender, now);
    }

    void lose(peer& p) {
        ++errors_;
        close(p.fd);
        p.fd = -1;
    }

    std::vector<peer> peers_;
    bool broadcast_;
    int epoll_;
    std::string received_;
    std::string frame_;
    std::size_t payload_at_ = 0;
    std::size_t back_size_ = 0;
    std::size_t have_it_ = 0;
    std::uint64_t messages_ = 0;
    std::uint64_t errors_ = 0;
    bench::latencies latencies_;
};

void mark(const char* text) {
    std::fputs(text, stderr);
    std::fflush(stderr);
}

int hold(const sockaddr_in& server, std::size_t connections, bool deflate) {
    constexpr std::string_view message = "\x82\x85\0\0\0\0hello";
    const std::string_view bytes(message.data(), 11);
    for (std::size_t i = 0; i < connections; ++i) {
        const int fd = open_websocket(server, i, "/", deflate);
        char back[64];
        if (!bench::send_all(fd, bytes) || recv(fd, back, sizeof back, 0) < 2) bench::fail("echo");
    }
    std::puts("ready");
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view mode = argc > 1 ? argv[1] : "";
    if (argc < 4 || (mode != "idle" && argc < 7)) {
        std::fputs("usage: websocket_load echo|broadcast|idle 127.0.0.1:PORT CONNECTIONS ...\n",
                   stderr);
        return 2;
    }
    bench::raise_descriptor_limit();
    const sockaddr_in server = bench::parse_address(argv[2]);
    const std::size_t connections = std::strtoul(argv[3], nullptr, 10);
    if (mode == "idle") return hold(server, connections, argc > 4);
    const bool broadcast = mode == "broadcast";
    load all{server, connections, std::strtoul(argv[6], nullptr, 10), broadcast,
             broadcast ? "/all" : "/"};
    all.start();
    all.run_for(std::strtod(argv[5], nullptr));
    all.clear();
    mark("begin\n");
    const double seconds = all.run_for(std::strtod(argv[4], nullptr));
    mark("end\n");
    std::printf("round_trips %llu\nduration %.0f\np50 %.1f\np99 %.1f\np999 %.1f\nerrors %llu\n",
                static_cast<unsigned long long>(all.messages()), seconds * 1e6, all.percentile(0.5),
                all.percentile(0.99), all.percentile(0.999),
                static_cast<unsigned long long>(all.errors()));
    return all.errors() == 0 ? 0 : 1;
}
