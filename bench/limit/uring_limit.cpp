// The least program that responds to an HTTP request on raw io_uring, as epoll_limit does on epoll:
// one multishot accept, one multishot receive for each connection with buffers that the ring
// provides, one send for each read, one system call for each turn. It understands nothing of HTTP
// but the blank line that ends a request without a body. The response has the length of the one
// that examples/hello gives.
//
//   uring_limit 127.0.0.1:PORT [direct]      port 0: the system picks one
//
// With `direct` a response leaves by send(2) at once instead of through the ring.

#include "../support/limit_responses.hpp"
#include "../support/ring_server.hpp"

#include <cerrno>

namespace {

struct connection : bench::limit_peer {
    bool sends = false;  // a send is in the ring
    bool ended = false;  // to be closed once the send has come back
};

class server : public bench::ring_server<server, {256, 16 * 1024}, std::vector<connection>> {
public:
    server(int listener, bool direct) : ring_server{listener}, direct_{direct} {}

    void received(int fd, connection& peer, std::string_view bytes, unsigned buffer) {
        if (!peer.ended) serve(fd, peer, bytes);
        give_back(buffer);
    }

    void ended(int fd, connection& peer) {
        peer.ended = true;
        if (!peer.sends) close(fd);
    }

    void sent(int fd, connection& peer, int result) {
        peer.sends = false;
        peer.owed = result < 0 ? 0 : peer.owed - static_cast<std::size_t>(result);
        if (peer.owed != 0) {
            flush(fd, peer);
        } else if (peer.ended) {
            close(fd);
        }
    }

private:
    void serve(int fd, connection& peer, std::string_view bytes) {
        const std::size_t requests = peer.take(bytes);
        if (requests == 0) return;
        peer.owed += requests * bench::limit_responses::size_for(peer);
        if (!peer.sends) flush(fd, peer);
    }

    void flush(int fd, connection& peer) {
        if (direct_) {
            const std::string_view bytes = responses_.next_for(peer);
            const ssize_t n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n > 0) peer.owed -= static_cast<std::size_t>(n);
            if (n == static_cast<ssize_t>(bytes.size()) || (n < 0 && errno != EAGAIN)) return;
        }
        peer.sends = true;
        send_later(fd, responses_.next_for(peer));
    }

    bool direct_;
    bench::limit_responses responses_;
};

}  // namespace

int main(int argc, char** argv) {
    bench::raise_descriptor_limit();
    const bool direct = argc > 2 && std::string_view(argv[2]) == "direct";
    server limit{bench::listen_and_announce(argc > 1 ? argv[1] : "127.0.0.1:8080", 0), direct};
    limit.run();
}
