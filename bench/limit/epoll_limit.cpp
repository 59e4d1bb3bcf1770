// The least program that responds to an HTTP request on raw epoll: the lower bound that every
// figure of the servers is given against. One recv and one send per event, one epoll_ctl per
// connection ever; it understands nothing of HTTP but the blank line that ends a request without a
// body. The response has the length of the one that examples/hello gives.
//
//   epoll_limit 127.0.0.1:PORT [1]      port 0: the system picks one

#include "../support/epoll_server.hpp"
#include "../support/limit_responses.hpp"

#include <cerrno>

namespace {

class server : public bench::epoll_server<server, bench::limit_peer> {
public:
    using epoll_server::epoll_server;

    void serve(int fd, std::uint32_t events, bench::limit_peer& peer) {
        if (peer.owed != 0 && !flush(fd, peer)) return;
        if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP | EPOLLRDHUP)) == 0 && !peer.seen()) return;
        for (;;) {
            const ssize_t size = recv(fd, buffer_, sizeof buffer_, 0);
            if (size <= 0) {
                if (size == 0 || errno != EAGAIN) close(fd);
                return;
            }
            const auto bytes = static_cast<std::size_t>(size);
            const std::size_t requests = peer.take({buffer_, bytes});
            if (requests != 0) {
                peer.owed = requests * bench::limit_responses::size_for(peer);
                if (!flush(fd, peer)) return;
            }
            // A short read has emptied the socket; the edge comes back with the next bytes.
            if (bytes < sizeof buffer_ && (events & EPOLLRDHUP) == 0) return;
        }
    }

private:
    // Sends what is owed. False when the connection has to wait for room, or is gone.
    bool flush(int fd, bench::limit_peer& peer) {
        while (peer.owed != 0) {
            const std::string_view bytes = responses_.next_for(peer);
            const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent < 0) {
                if (errno != EAGAIN) close(fd);
                return false;
            }
            peer.owed -= static_cast<std::size_t>(sent);
        }
        return true;
    }

    bench::limit_responses responses_;
    char buffer_[65536];
};

}  // namespace

int main(int argc, char** argv) {
    bench::raise_descriptor_limit();
    server limit{bench::listen_and_announce(argc > 1 ? argv[1] : "127.0.0.1:8080", SOCK_NONBLOCK)};
    limit.run();
}
