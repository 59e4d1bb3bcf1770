// Loads a WebSocket server from one thread.
//
//   websocket_load echo      127.0.0.1:PORT CONNECTIONS SECONDS WARM_UP BYTES
//       each connection of "/" sends a binary message, waits until it has come back, and sends the
//       next
//   websocket_load broadcast 127.0.0.1:PORT CONNECTIONS SECONDS WARM_UP BYTES
//       the first connection of "/all" sends a message; when all have it, the next
//   websocket_load deflated  127.0.0.1:PORT CONNECTIONS SECONDS WARM_UP BYTES
//       as `broadcast` on "/deflated", with permessage-deflate: what comes must be compressed
//   websocket_load relay     127.0.0.1:PORT 127.0.0.1:PORT SECONDS WARM_UP BYTES WINDOW
//       a connection of "/all" of the first server sends, one of the second gets it; WINDOW
//       messages are under way
//   websocket_load idle      127.0.0.1:PORT CONNECTIONS [deflate]
//       holds connections behind one message each until its input closes; says "ready" first
//
// It writes `begin` and `end` to its error stream around what it counts, so that whoever started it
// can read the server's clocks then, and its figures to its output: messages, microseconds,
// percentiles of the latency in microseconds (of a broadcast, until the last one has it), errors.

#include "../support/latencies.hpp"
#include "../support/sockets.hpp"
#include "../support/websocket_bytes.hpp"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

struct peer {
    int fd = -1;
    std::size_t got = 0;   // bytes of the frame
    std::size_t size = 0;  // of all of the frame
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

// The payload as one block of RFC 1951 that is not compressed (RFC 7692 section 7.2.3.3).
std::string stored_block(const std::string& payload) {
    std::string block(1, '\0');
    const std::size_t n = payload.size();
    for (const std::size_t half : {n, ~n}) {
        block += static_cast<char>(half & 255);
        block += static_cast<char>(half >> 8 & 255);
    }
    return block.append(payload).append(1, '\0');
}

// Text that compresses as text does.
std::string some_text(std::size_t size) {
    constexpr std::string_view words[] = {"wind ", "harbour ", "tide ", "north ", "boat ", "rope "};
    std::string text;
    for (unsigned i = 1; text.size() < size; i = i * 1103515245 + 12345)
        text += words[(i >> 16) % 6];
    text.resize(size);
    return text;
}

// Masked by 1, 2, 3, 4, as a client must.
std::string client_frame(unsigned char first, std::string payload) {
    char head[10];
    std::string frame(head, bench::write_frame_head(head, first, payload.size()));
    frame[1] = static_cast<char>(frame[1] | '\x80');
    bench::unmask(payload.data(), payload.size(), "\1\2\3\4");
    return frame.append("\1\2\3\4").append(payload);
}

[[noreturn]] void fail_by_content() {
    std::fputs("websocket_load: what came back is not what was sent\n", stderr);
    std::exit(1);
}

/// The messages that came, and how long they took.
class results {
public:
    void clear() {
        messages_ = 0;
        latencies_.clear();
    }
    std::uint64_t messages() const { return messages_; }
    double percentile(double share) const {
        return static_cast<double>(latencies_.percentile(share)) / 1000;
    }

protected:
    void note(clock_type::duration took) {
        latencies_.add(static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(took).count()));
    }
    std::uint64_t messages_ = 0;

private:
    bench::latencies latencies_;
};

enum class work { echo, broadcast, deflated };

class load : public results {
public:
    load(const sockaddr_in& server, std::size_t connections, std::size_t size, work what)
        : peers_(connections), broadcast_{what != work::echo}, deflated_{what == work::deflated},
          epoll_{epoll_create1(EPOLL_CLOEXEC)}, received_(256 * 1024, '\0'),
          frame_(deflated_ ? client_frame(0xc2, stored_block(some_text(size)))
                           : client_frame(0x82, std::string(size, 'x'))) {
        const char* const path = deflated_ ? "/deflated" : broadcast_ ? "/all" : "/";
        for (std::size_t i = 0; i < connections; ++i) {
            peers_[i].fd = open_websocket(server, i, path, deflated_);
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

    std::uint64_t errors() const { return errors_; }

private:
    void send_next(peer& p, clock_type::time_point now) {
        p.sent = now;
        if (!bench::send_all(p.fd, frame_)) lose(p);
    }

    void receive(peer& p, clock_type::time_point now) {
        // No more than one message is on its way to a peer.
        const ssize_t n = recv(p.fd, received_.data(), received_.size(), MSG_DONTWAIT);
        if (n <= 0) {
            lose(p);
            return;
        }
        const auto size = static_cast<std::size_t>(n);
        if (p.got == 0) {
            const auto head = bench::read_frame_head(received_.data(), size);
            if (!head.whole || head.first != (deflated_ ? 0xc2 : 0x82)) fail_by_content();
            p.size = head.size + head.length;
        }
        p.got += size;
        if (p.got < p.size) return;
        if (p.got != p.size || (!deflated_ && received_[size - 1] != 'x')) fail_by_content();
        p.got = 0;
        ++messages_;
        if (broadcast_ && ++have_it_ != peers_.size()) return;
        have_it_ = 0;
        peer& sender = broadcast_ ? peers_.front() : p;
        note(now - sender.sent);
        send_next(sender, now);
    }

    void lose(peer& p) {
        ++errors_;
        close(p.fd);
        p.fd = -1;
    }

    std::vector<peer> peers_;
    bool broadcast_;
    bool deflated_;
    int epoll_;
    std::string received_;
    const std::string frame_;
    std::size_t have_it_ = 0;
    std::uint64_t errors_ = 0;
};

// Messages from one server to another, each a frame of the same size.
class relay : public results {
public:
    relay(const sockaddr_in& from, const sockaddr_in& to, std::size_t size, std::size_t window)
        : from_(open_websocket(from, 0, "/all", false)), to_(open_websocket(to, 1, "/all", false)),
          window_(window), frame_(client_frame(0x82, std::string(size, 'x'))),
          back_size_(frame_.size() - 4), received_(256 * 1024, '\0') {}

    // Until both servers are connected to what is between them, messages are lost.
    void meet() {
        for (int tries = 0; !wait_for_input(50); ++tries) {
            if (tries == 100) bench::fail("no message arrives");
            send_next();
        }
        while (wait_for_input(500)) static_cast<void>(read_from(to_));
        sent_.clear();
        begun_ = 0;
    }

    double run_for(double seconds) {
        const auto begin = clock_type::now();
        const auto end = begin + std::chrono::duration_cast<clock_type::duration>(
                                     std::chrono::duration<double>(seconds));
        auto now = begin;
        while (now < end) {
            while (sent_.size() < window_) send_next();
            if (!wait_for_input(5000)) bench::fail("a message was lost");
            now = clock_type::now();
            for (begun_ += read_from(to_); begun_ >= back_size_; begun_ -= back_size_) {
                if (sent_.empty()) fail_by_content();
                note(now - sent_.front());
                sent_.pop_front();
                ++messages_;
            }
            // The sender gets what it sends.
            static_cast<void>(read_from(from_));
        }
        return std::chrono::duration<double>(now - begin).count();
    }

    std::uint64_t errors() const { return 0; }

private:
    bool wait_for_input(int milliseconds) const {
        pollfd one{to_, POLLIN, 0};
        return poll(&one, 1, milliseconds) == 1;
    }
    void send_next() {
        sent_.push_back(clock_type::now());
        if (!bench::send_all(from_, frame_)) bench::fail("send");
    }
    std::size_t read_from(int fd) {
        const ssize_t n = recv(fd, received_.data(), received_.size(), MSG_DONTWAIT);
        if (n == 0) bench::fail("a connection was closed");
        return n > 0 ? static_cast<std::size_t>(n) : 0;
    }

    int from_;
    int to_;
    std::size_t window_;
    const std::string frame_;
    std::size_t back_size_;  // without a mask
    std::string received_;
    std::deque<clock_type::time_point> sent_;
    std::size_t begun_ = 0;
};

void mark(const char* text) {
    std::fputs(text, stderr);
    std::fflush(stderr);
}

template <class Load>
int measure(Load& one, double seconds, double warm_up) {
    one.run_for(warm_up);
    one.clear();
    mark("begin\n");
    const double took = one.run_for(seconds);
    mark("end\n");
    std::printf("round_trips %llu\nduration %.0f\np50 %.1f\np99 %.1f\np999 %.1f\nerrors %llu\n",
                static_cast<unsigned long long>(one.messages()), took * 1e6, one.percentile(0.5),
                one.percentile(0.99), one.percentile(0.999),
                static_cast<unsigned long long>(one.errors()));
    return one.errors() == 0 ? 0 : 1;
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
    if (argc < 4 || (mode != "idle" && argc < (mode == "relay" ? 8 : 7))) {
        std::fputs("usage: websocket_load echo|broadcast|deflated|relay|idle 127.0.0.1:PORT ...\n",
                   stderr);
        return 2;
    }
    bench::raise_descriptor_limit();
    const sockaddr_in server = bench::parse_address(argv[2]);
    const std::size_t connections = std::strtoul(argv[3], nullptr, 10);
    if (mode == "idle") return hold(server, connections, argc > 4);
    const double seconds = std::strtod(argv[4], nullptr);
    const double warm_up = std::strtod(argv[5], nullptr);
    const std::size_t size = std::strtoul(argv[6], nullptr, 10);
    if (mode == "relay") {
        relay one{server, bench::parse_address(argv[3]), size, std::strtoul(argv[7], nullptr, 10)};
        one.meet();
        return measure(one, seconds, warm_up);
    }
    load all{server, connections, size,
             mode == "deflated"    ? work::deflated
             : mode == "broadcast" ? work::broadcast
                                   : work::echo};
    all.start();
    return measure(all, seconds, warm_up);
}
