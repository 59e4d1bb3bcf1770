// The least program that echoes bytes on raw epoll: the lower bound of the echo figures. One recv
// and one send per event, one epoll_ctl per connection ever.
//
//   epoll_echo 127.0.0.1:PORT      port 0: the system picks one

#include "../support/epoll_server.hpp"

#include <cerrno>
#include <string>
#include <string_view>

namespace {

// A connection is what the socket did not take yet.
class server : public bench::epoll_server<server, std::string> {
public:
    using epoll_server::epoll_server;

    void serve(int fd, std::uint32_t events, std::string& owed) {
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

private:
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

    char buffer_[65536];
};

}  // namespace

int main(int argc, char** argv) {
    bench::raise_descriptor_limit();
    const char* address = argc > 1 ? argv[1] : "127.0.0.1:7777";
    server limit{bench::listen_and_announce(address, SOCK_NONBLOCK, "tcp")};
    limit.run();
}
