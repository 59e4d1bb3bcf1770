// The least program that answers an HTTP request on raw io_uring, as epoll_limit does on epoll: one
// multishot accept, one multishot receive for each connection with buffers that the ring provides,
// one send for each read, one system call for each turn. It understands nothing of HTTP but the
// blank line that ends a request without a body. The answer has the length of the one that
// examples/hello gives.
//
//   uring_limit 127.0.0.1:PORT [direct]      port 0: the system picks one
//
// With `direct` an answer leaves by send(2) at once instead of through the ring.

#include "../support/sockets.hpp"

#include <liburing.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
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
constexpr unsigned buffer_count = 256;
constexpr unsigned buffer_size = 16 * 1024;

enum operation : std::uint64_t { accepting, receiving, sending };

struct connection {
    std::size_t owed = 0;       // bytes of answers that the socket did not take yet
    unsigned char matched = 0;  // how much of the blank line ended the last read
    bool seen = false;          // the first read decides which answer this connection gets
    bool keep_alive = false;
    bool sends = false;  // a send is in the ring
    bool ended = false;  // to be closed once the send has come back
};

class server {
public:
    server(int listener, bool direct) : listener_{listener}, direct_{direct} {
        for (std::size_t i = 0; i < copies; ++i) {
            plain_ += plain_answer;
            keep_alive_ += keep_alive_answer;
        }
        io_uring_params parameters{};
        parameters.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                           IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
        parameters.cq_entries = 16384;
        check(io_uring_queue_init_params(4096, &ring_, &parameters), "io_uring_setup");
        io_uring_register_ring_fd(&ring_);
        provide_buffers();
        accept();
    }

    [[noreturn]] void run() {
        io_uring_cqe* done[512];
        for (;;) {
            const int result = io_uring_submit_and_wait(&ring_, 1);
            if (result < 0 && result != -EINTR) check(result, "io_uring_enter");
            unsigned count = 0;
            while ((count = io_uring_peek_batch_cqe(&ring_, done, 512)) != 0) {
                for (unsigned i = 0; i < count; ++i) complete(*done[i]);
                io_uring_cq_advance(&ring_, count);
            }
            io_uring_buf_ring_advance(buffers_, returned_);
            returned_ = 0;
        }
    }

private:
    static void check(int result, const char* what) {
        if (result >= 0) return;
        errno = -result;
        bench::fail(what);
    }

    void provide_buffers() {
        memory_.resize(std::size_t{buffer_count} * buffer_size);
        const std::size_t size = buffer_count * sizeof(io_uring_buf);
        void* place = nullptr;
        if (posix_memalign(&place, 4096, size) != 0) bench::fail("posix_memalign");
        buffers_ = static_cast<io_uring_buf_ring*>(place);
        std::memset(place, 0, size);
        io_uring_buf_reg registration{};
        registration.ring_addr = reinterpret_cast<std::uintptr_t>(place);
        registration.ring_entries = buffer_count;
        check(io_uring_register_buf_ring(&ring_, &registration, 0), "io_uring_register");
        for (unsigned i = 0; i < buffer_count; ++i) give_back(i);
        io_uring_buf_ring_advance(buffers_, returned_);
        returned_ = 0;
    }

    void give_back(unsigned id) {
        io_uring_buf_ring_add(buffers_, memory_.data() + std::size_t{id} * buffer_size, buffer_size,
                              static_cast<unsigned short>(id), buffer_count - 1, returned_++);
    }

    io_uring_sqe* entry() {
        io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
        if (sqe != nullptr) return sqe;
        io_uring_submit(&ring_);
        return io_uring_get_sqe(&ring_);
    }

    void accept() {
        io_uring_sqe* sqe = entry();
        io_uring_prep_multishot_accept(sqe, listener_, nullptr, nullptr, SOCK_CLOEXEC);
        mark(sqe, listener_, accepting);
    }

    // The io_uring_prep_ functions clear user_data, so it is set behind them.
    static void mark(io_uring_sqe* sqe, int fd, operation kind) {
        sqe->user_data = static_cast<std::uint64_t>(fd) << 2 | kind;
    }

    void receive(int fd) {
        io_uring_sqe* sqe = entry();
        io_uring_prep_recv_multishot(sqe, fd, nullptr, 0, 0);
        sqe->flags |= IOSQE_BUFFER_SELECT;
        sqe->buf_group = 0;
        mark(sqe, fd, receiving);
    }

    void complete(const io_uring_cqe& cqe) {
        const int fd = static_cast<int>(cqe.user_data >> 2);
        switch (static_cast<operation>(cqe.user_data & 3)) {
            case accepting: accepted(cqe); break;
            case receiving: received(fd, cqe); break;
            case sending: sent(fd, cqe.res); break;
        }
    }

    void accepted(const io_uring_cqe& cqe) {
        if ((cqe.flags & IORING_CQE_F_MORE) == 0) {
            accept();
        }
        if (cqe.res < 0) return;
        const auto index = static_cast<std::size_t>(cqe.res);
        if (index >= connections_.size()) connections_.resize(index + 1024);
        connections_[index] = {};
        receive(cqe.res);
    }

    void received(int fd, const io_uring_cqe& cqe) {
        connection& peer = connections_[static_cast<std::size_t>(fd)];
        if ((cqe.flags & IORING_CQE_F_BUFFER) != 0) {
            const unsigned id = cqe.flags >> IORING_CQE_BUFFER_SHIFT;
            if (cqe.res > 0 && !peer.ended) {
                serve(fd, peer,
                      {memory_.data() + std::size_t{id} * buffer_size,
                       static_cast<std::size_t>(cqe.res)});
            }
            give_back(id);
        }
        if ((cqe.flags & IORING_CQE_F_MORE) != 0) return;
        if (cqe.res > 0 || cqe.res == -ENOBUFS) {
            receive(fd);
        } else {
            peer.ended = true;
            if (!peer.sends) close(fd);
        }
    }

    void serve(int fd, connection& peer, std::string_view bytes) {
        const std::size_t requests = count_ends(peer, bytes);
        if (!peer.seen) {
            peer.seen = true;
            peer.keep_alive = bytes.find("eep-") != bytes.npos;
        }
        if (requests == 0) return;
        peer.owed += requests * answer_of(peer).size();
        if (!peer.sends) flush(fd, peer);
    }

    void sent(int fd, int result) {
        connection& peer = connections_[static_cast<std::size_t>(fd)];
        peer.sends = false;
        peer.owed = result < 0 ? 0 : peer.owed - static_cast<std::size_t>(result);
        if (peer.owed != 0) {
            flush(fd, peer);
        } else if (peer.ended) {
            close(fd);
        }
    }

    static std::string_view answer_of(const connection& peer) {
        return peer.keep_alive ? keep_alive_answer : plain_answer;
    }

    // Sends what is owed, from a block of repeated answers.
    void flush(int fd, connection& peer) {
        const std::string& block = peer.keep_alive ? keep_alive_ : plain_;
        const std::size_t unit = answer_of(peer).size();
        const std::size_t skip = peer.owed % unit == 0 ? 0 : unit - peer.owed % unit;
        std::size_t size = std::min(peer.owed, block.size() - skip);
        if (direct_) {
            const ssize_t n = send(fd, block.data() + skip, size, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n > 0) peer.owed -= static_cast<std::size_t>(n);
            if (n == static_cast<ssize_t>(size) || (n < 0 && errno != EAGAIN)) return;
            flush_later(fd, peer);
            return;
        }
        flush_later(fd, peer);
    }

    void flush_later(int fd, connection& peer) {
        const std::string& block = peer.keep_alive ? keep_alive_ : plain_;
        const std::size_t unit = answer_of(peer).size();
        const std::size_t skip = peer.owed % unit == 0 ? 0 : unit - peer.owed % unit;
        const std::size_t size = std::min(peer.owed, block.size() - skip);
        peer.sends = true;
        io_uring_sqe* sqe = entry();
        io_uring_prep_send(sqe, fd, block.data() + skip, size, MSG_NOSIGNAL);
        mark(sqe, fd, sending);
    }

    // How many requests end within `bytes`.
    static std::size_t count_ends(connection& peer, std::string_view bytes) {
        std::size_t count = 0;
        const char* at = bytes.data();
        const char* const end = at + bytes.size();
        while (peer.matched != 0 && at != end) step(peer, *at++, count);
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
    bool direct_;
    io_uring ring_{};
    io_uring_buf_ring* buffers_ = nullptr;
    int returned_ = 0;
    std::vector<char> memory_;
    std::string plain_;
    std::string keep_alive_;
    std::vector<connection> connections_;
};

}  // namespace

int main(int argc, char** argv) {
    bench::raise_descriptor_limit();
    const bool direct = argc > 2 && std::string_view(argv[2]) == "direct";
    server limit{bench::listen_and_announce(argc > 1 ? argv[1] : "127.0.0.1:8080", 0), direct};
    limit.run();
}
