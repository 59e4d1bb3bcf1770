// The least program that echoes bytes on raw io_uring, as epoll_echo does on epoll: one multishot
// accept, one multishot receive for each connection with buffers that the ring provides, one send
// from the same buffer, one system call for each turn.
//
//   uring_echo 127.0.0.1:PORT [direct]      port 0: the system picks one
//
// With `direct` bytes leave by send(2) at once instead of through the ring.

#include "../support/ring_server.hpp"

#include <cerrno>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

namespace {

struct connection {
    std::string_view leaving;  // what the send in the ring has still to send
    unsigned buffer = 0;       // that holds it, if `backlog` does not
    bool lent = false;
    std::string backlog;  // came while a send was in the ring
    std::string moving;   // what was the backlog, and leaves now
    bool ended = false;   // to be closed once the send has come back
};

// More buffers than connections may send at once.
class server : public bench::ring_server<server, {2048, 4 * 1024}, std::deque<connection>> {
public:
    server(int listener, bool direct) : ring_server{listener}, direct_{direct} {}

    void received(int fd, connection& peer, std::string_view bytes, unsigned buffer) {
        if (peer.ended || !echo(fd, peer, bytes, buffer)) give_back(buffer);
    }

    void ended(int fd, connection& peer) {
        peer.ended = true;
        if (peer.leaving.empty()) close(fd);
    }

    void sent(int fd, connection& peer, int result) {
        const std::string_view rest =
            result < 0 ? std::string_view() : peer.leaving.substr(static_cast<std::size_t>(result));
        peer.leaving = {};
        if (!rest.empty()) {
            leave(fd, peer, rest);
            return;
        }
        if (std::exchange(peer.lent, false)) give_back(peer.buffer);
        if (result >= 0 && !peer.backlog.empty()) {
            peer.moving.swap(peer.backlog);
            peer.backlog.clear();
            leave(fd, peer, peer.moving);
        } else if (peer.ended) {
            close(fd);
        }
    }

private:
    // True when the buffer is kept until its bytes have left.
    bool echo(int fd, connection& peer, std::string_view bytes, unsigned buffer) {
        if (!peer.leaving.empty()) {
            peer.backlog += bytes;
            return false;
        }
        if (direct_) {
            const ssize_t n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n < 0 && errno != EAGAIN) return false;
            bytes.remove_prefix(n < 0 ? 0 : static_cast<std::size_t>(n));
            if (bytes.empty()) return false;
        }
        peer.buffer = buffer;
        peer.lent = true;
        leave(fd, peer, bytes);
        return true;
    }

    void leave(int fd, connection& peer, std::string_view bytes) {
        peer.leaving = bytes;
        send_later(fd, bytes);
    }

    bool direct_;
};

}  // namespace

int main(int argc, char** argv) {
    bench::raise_descriptor_limit();
    const bool direct = argc > 2 && std::string_view(argv[2]) == "direct";
    const char* address = argc > 1 ? argv[1] : "127.0.0.1:7777";
    server limit{bench::listen_and_announce(address, 0, "tcp"), direct};
    limit.run();
}
