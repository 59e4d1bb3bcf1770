// The least program that echoes bytes on raw epoll: the lower bound of the echo figures. One recv
// and one send per event, one epoll_ctl per connection ever.
//
//   epoll_echo 127.0.0.1:PORT      port 0: the system picks one

#include "../support/sockets.hpp"

#include <sys/epoll.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

namespace {

class server {
public:
    explicit server(int listener) : listener_{listener}, epoll_{epoll_create1(EPOLL_CLOEXEC)} {
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
            if (index >= owed_.size()) owed_.resize(index + 1024);
            owed_[index].clear();
            watch(fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
        }
    }

    void serve(int fd, std::uint32_t events) {
        std::string& owed = owed_[static_cast<std::size_t>(fd)];
        if (!owed.empty()) {
            const std::string rest = std::move(owed);
            owed.clear();
            if (!echo(fd, rest, owed)) return;
        }
        if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP | EPOLLRDHUP)) == 0) return;
        for (;;) {
            const ssize_t size = recv(fd, buffer_, sizeof buffer_, 0);
            if (size <= 0) {
                if (size == 0 || errno != EAGAIN) close(fd);
                return;
            }
            const auto bytes = static_cast<std::size_t>(size);
            if (!echo(fd, {buffer_, bytes}, owed)) return;
            // A short read has emptied the socket; the edge comes back with the next bytes.
            if (bytes < sizeof buffer_ && (events & EPOLLRDHUP) == 0) return;
        }
    }

    // False when the connection has to wait for room, or is gone.
    static bool echo(int fd, std::string_view bytes, std::string& owed) {
        const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent == static_cast<ssize_t>(bytes.size())) return true;
        if (sent < 0 && errno != EAGAIN) {
            close(fd);
        } else {
            owed = bytes.substr(sent < 0 ? 0 : static_cast<std::size_t>(sent));
        }
        return false;
    }

    int listener_;
    int epoll_;
    std::vector<std::string> owed_;  // by descriptor: what the socket did not take yet
    char buffer_[65536];
};

}  // namespace

int main(int argc, char** argv) {
    bench::raise_descriptor_limit();
    const char* address = argc > 1 ? argv[1] : "127.0.0.1:7777";
    server limit{bench::listen_and_announce(address, SOCK_NONBLOCK, "tcp")};
    limit.run();
}
