// The least program that answers an HTTP request on raw epoll: the lower bound that every figure of
// the servers is given against. One recv and one send per event, one epoll_ctl per connection ever;
// it understands nothing of HTTP but the blank line that ends a request without a body. The answer
// has the length of the one that examples/hello gives.
//
//   epoll_limit 127.0.0.1:PORT [1]      port 0: the system picks one

#include "../support/sockets.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::string_view plain_answer =
    "HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 12:00:00 GMT\r\n"
    "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 14\r\n\r\nHello, World!\n";
// ab speaks HTTP/1.0, and keeps a connection only where the answer says so.
constexpr std::string_view keep_alive_answer =
    "HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 12:00:00 GMT\r\n"
    "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 14\r\n"
    "Connection: keep-alive\r\n\r\nHello, World!\n";
constexpr std::size_t copies = 256;
constexpr std::string_view blank_line = "\r\n\r\n";

struct connection {
    std::size_t owed = 0;       // bytes of answers that the socket did not take yet
    unsigned char matched = 0;  // how much of the blank line ended the last read
    bool seen = false;          // the first read decides which answer this connection gets
    bool keep_alive = false;
};

class server {
public:
    explicit server(int listener) : listener_{listener}, epoll_{epoll_create1(EPOLL_CLOEXEC)} {
        for (std::size_t i = 0; i < copies; ++i) {
            plain_ += plain_answer;
            keep_alive_ += keep_alive_answer;
        }
        watch(listener_, EPOLLIN);
    }

    [[noreturn]] void run() {
        epoll_event events[512];
        for (;;) {
            const int count = epoll_wait(epoll_, events, 512, -1);
            for (int i = 0; i < count; ++i) {
                const int fd = events[i].data.fd;
                if (fd == listener_) {
                    accept_all();
                } else {
                    serve(fd, events[i].events);
                }
            }
        }
    }

private:
    void watch(int fd, std::uint32_t interest) {
        epoll_event event{};
        event.events = interest;
        event.data.fd = fd;
        if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) bench::fail("epoll_ctl");
    }

    void accept_all() {
        for (;;) {
            const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (fd < 0) return;
            const auto index = static_cast<std::size_t>(fd);
            if (index >= connections_.size()) connections_.resize(index + 1024);
            connections_[index] = {};
            watch(fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
        }
    }

    void serve(int fd, std::uint32_t events) {
        connection& peer = connections_[static_cast<std::size_t>(fd)];
        if (peer.owed != 0 && !flush(fd, peer)) return;
        if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP | EPOLLRDHUP)) == 0 && !peer.seen) return;
        for (;;) {
            const ssize_t size = recv(fd, buffer_, sizeof buffer_, 0);
            if (size <= 0) {
                if (size == 0 || errno != EAGAIN) close(fd);
                return;
            }
            const auto bytes = static_cast<std::size_t>(size);
            const std::size_t requests = count_ends(peer, bytes);
            if (!peer.seen) {
                peer.seen = true;
                peer.keep_alive = memmem(buffer_, bytes, "eep-", 4) != nullptr;
            }
            if (requests != 0) {
                peer.owed = requests * answer_of(peer).size();
                if (!flush(fd, peer)) return;
            }
            // A short read has emptied the socket; the edge comes back with the next bytes.
            if (bytes < sizeof buffer_ && (events & EPOLLRDHUP) == 0) return;
        }
    }

    static std::string_view answer_of(const connection& peer) {
        return peer.keep_alive ? keep_alive_answer : plain_answer;
    }

    // Sends what is owed, from a block of repeated answers. False when the connection has to wait
    // for room, or is gone.
    bool flush(int fd, connection& peer) {
        const std::string& block = peer.keep_alive ? keep_alive_ : plain_;
        const std::size_t unit = answer_of(peer).size();
        while (peer.owed != 0) {
            const std::size_t skip = peer.owed % unit == 0 ? 0 : unit - peer.owed % unit;
            const std::size_t size = std::min(peer.owed, block.size() - skip);
            const ssize_t sent = send(fd, block.data() + skip, size, MSG_NOSIGNAL);
            if (sent < 0) {
                if (errno != EAGAIN) close(fd);
                return false;
            }
            peer.owed -= static_cast<std::size_t>(sent);
        }
        return true;
    }

    // How many requests end within the `size` bytes of the buffer.
    std::size_t count_ends(connection& peer, std::size_t size) {
        std::size_t count = 0;
        const char* at = buffer_;
        const char* const end = buffer_ + size;
        while (peer.matched != 0 && at != end) {
            step(peer, *at++, count);
        }
        const char* rest = at;
        while (const auto* feed = static_cast<const char*>(
                   std::memchr(at, '\n', static_cast<std::size_t>(end - at)))) {
            at = feed + 1;
            if (end - at >= 2 && at[0] == '\r' && at[1] == '\n') {
                ++count;
                at += 2;
                rest = at;
            }
            if (at == end) break;
        }
        // What may begin a blank line stands in the last three bytes.
        for (rest = std::max(rest, end - std::min<std::ptrdiff_t>(3, end - rest)); rest != end;) {
            step(peer, *rest++, count);
        }
        return count;
    }

    static void step(connection& peer, char byte, std::size_t& count) {
        if (byte == blank_line[peer.matched]) {
            if (++peer.matched == blank_line.size()) {
                peer.matched = 0;
                ++count;
            }
        } else {
            peer.matched = byte == '\r' ? 1 : 0;
        }
    }

    int listener_;
    int epoll_;
    std::string plain_;
    std::string keep_alive_;
    std::vector<connection> connections_;
    char buffer_[65536];
};

}  // namespace

int main(int argc, char** argv) {
    bench::raise_descriptor_limit();
    server limit{bench::listen_and_announce(argc > 1 ? argv[1] : "127.0.0.1:8080", SOCK_NONBLOCK)};
    limit.run();
}
