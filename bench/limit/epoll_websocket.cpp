// The least program that speaks WebSocket, on raw epoll, framing by hand: the lower bound of the
// WebSocket figures. It believes its clients: whole messages in single frames, no control frames
// but close. "/" echoes, and what comes on "/all" or "/deflated" goes to every connection of them,
// as it came: compressed there.
//
//   epoll_websocket 127.0.0.1:PORT      port 0: the system picks one

#include "../support/epoll_server.hpp"
#include "../support/websocket_bytes.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct connection {
    std::string pending;  // of a frame, or of the handshake
    std::string owed;     // what the socket did not take yet
    bool shook_hands = false;
    bool of_all = false;
};

class server : public bench::epoll_server<server, connection> {
public:
    using epoll_server::epoll_server;

    void serve(int fd, std::uint32_t events, connection& c) {
        if (!c.owed.empty()) {
            const std::string rest = std::move(c.owed);
            c.owed.clear();
            put(fd, rest, c);
            if (!c.owed.empty()) return;
        }
        if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP | EPOLLRDHUP)) == 0) return;
        for (;;) {
            const std::size_t before = c.pending.size();
            if (before != 0) std::memcpy(buffer_, c.pending.data(), before);
            const ssize_t size = recv(fd, buffer_ + before, sizeof buffer_ - before, 0);
            if (size <= 0) {
                if (size == 0 || errno != EAGAIN) end(fd, c);
                return;
            }
            const std::size_t n = before + static_cast<std::size_t>(size);
            c.pending.clear();
            const std::size_t used = c.shook_hands ? messages(fd, n, c) : handshake(fd, n, c);
            if (used == 0 && n == 0) return;
            if (used < n) c.pending.assign(buffer_ + used, n - used);
            if (n < sizeof buffer_ && (events & EPOLLRDHUP) == 0) return;
        }
    }

private:
    std::size_t handshake(int fd, std::size_t n, connection& c) {
        const std::string_view text(buffer_, n);
        const std::size_t end_of_head = text.find("\r\n\r\n");
        constexpr std::string_view name = "Sec-WebSocket-Key: ";
        const std::size_t at = text.find(name);
        if (end_of_head == text.npos || at == text.npos) return 0;
        const std::size_t key = at + name.size();
        put(fd,
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Accept: " +
                bench::accept_of(text.substr(key, text.find('\r', key) - key)) + "\r\n\r\n",
            c);
        c.shook_hands = true;
        c.of_all = text.starts_with("GET /all ") || text.starts_with("GET /deflated ");
        if (c.of_all) all_.push_back(fd);
        return end_of_head + 4;
    }

    // Serves the frames at the front; gives their size.
    std::size_t messages(int fd, std::size_t n, connection& c) {
        std::size_t at = 0;
        for (;;) {
            const auto h = bench::read_frame_head(buffer_ + at, n - at);
            if (!h.whole || n - at < h.size + h.length) return at;
            char* const payload = buffer_ + at + h.size;
            bench::unmask(payload, h.length, payload - 4);
            // Our header is shorter by the mask, and stands in the place of the client's.
            char* const begin = payload - (h.size - 4);
            bench::write_frame_head(begin, h.first, h.length);
            const std::string_view frame(begin, h.size - 4 + h.length);
            at += h.size + h.length;
            if (c.of_all)
                broadcast(frame);
            else
                put(fd, frame, c);
            if ((h.first & 15) == 8) return n;
        }
    }

    void broadcast(std::string_view frame) {
        for (const int fd : all_) {
            if (send(fd, frame.data(), frame.size(), MSG_NOSIGNAL) < 0 && errno != EAGAIN) continue;
        }
    }

    void put(int fd, std::string_view bytes, connection& c) {
        const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent == static_cast<ssize_t>(bytes.size()) || (sent < 0 && errno != EAGAIN)) return;
        c.owed += bytes.substr(sent < 0 ? 0 : static_cast<std::size_t>(sent));
    }

    void end(int fd, connection& c) {
        if (c.of_all) all_.erase(std::find(all_.begin(), all_.end(), fd));
        c = {};
        close(fd);
    }

    std::vector<int> all_;
    char buffer_[256 * 1024];
};

}  // namespace

int main(int argc, char** argv) {
    bench::raise_descriptor_limit();
    const char* address = argc > 1 ? argv[1] : "127.0.0.1:7777";
    server limit{bench::listen_and_announce(address, SOCK_NONBLOCK, "http")};
    limit.run();
}
