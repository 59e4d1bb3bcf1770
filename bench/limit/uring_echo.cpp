// The least program that echoes bytes on raw io_uring, as epoll_echo does on epoll: one multishot
// accept, one multishot receive for each connection with buffers that the ring provides, one send
// from the same buffer, one system call for each turn.
//
//   uring_echo 127.0.0.1:PORT [direct]      port 0: the system picks one
//
// With `direct` bytes leave by send(2) at once instead of through the ring.

#include "../support/sockets.hpp"

#include <liburing.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

constexpr unsigned buffer_count = 2048;  // more than connections may send at once
constexpr unsigned buffer_size = 4 * 1024;

enum operation : std::uint64_t { accepting, receiving, sending };

struct connection {
    std::string_view leaving;  // what the send in the ring has still to send
    unsigned buffer = 0;       // that holds it, if `backlog` does not
    bool lent = false;
    std::string backlog;  // came while a send was in the ring
    std::string moving;   // what was the backlog, and leaves now
    bool ended = false;   // to be closed once the send has come back
};

class server {
public:
    server(int listener, bool direct) : listener_{listener}, direct_{direct} {
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
            io_uring_buf_ring_advance(buffers_, std::exchange(returned_, 0));
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
        io_uring_buf_ring_advance(buffers_, std::exchange(returned_, 0));
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

    // The io_uring_prep_ functions clear user_data, so it is set behind them.
    static void mark(io_uring_sqe* sqe, int fd, operation kind) {
        sqe->user_data = static_cast<std::uint64_t>(fd) << 2 | kind;
    }

    void accept() {
        io_uring_sqe* sqe = entry();
        io_uring_prep_multishot_accept(sqe, listener_, nullptr, nullptr, SOCK_CLOEXEC);
        mark(sqe, listener_, accepting);
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
        if ((cqe.flags & IORING_CQE_F_MORE) == 0) accept();
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
            if (cqe.res <= 0 || peer.ended || !echo(fd, peer, id, cqe.res)) give_back(id);
        }
        if ((cqe.flags & IORING_CQE_F_MORE) != 0) return;
        if (cqe.res > 0 || cqe.res == -ENOBUFS) {
            receive(fd);
        } else {
            peer.ended = true;
            if (peer.leaving.empty()) close(fd);
        }
    }

    // True when the buffer is kept until its bytes have left.
    bool echo(int fd, connection& peer, unsigned id, int size) {
        std::string_view bytes(memory_.data() + std::size_t{id} * buffer_size,
                               static_cast<std::size_t>(size));
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
        peer.buffer = id;
        peer.lent = true;
        leave(fd, peer, bytes);
        return true;
    }

    void leave(int fd, connection& peer, std::string_view bytes) {
        peer.leaving = bytes;
        io_uring_sqe* sqe = entry();
        io_uring_prep_send(sqe, fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        mark(sqe, fd, sending);
    }

    void sent(int fd, int result) {
        connection& peer = connections_[static_cast<std::size_t>(fd)];
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

    int listener_;
    bool direct_;
    io_uring ring_{};
    io_uring_buf_ring* buffers_ = nullptr;
    int returned_ = 0;
    std::vector<char> memory_;
    std::deque<connection> connections_;  // they do not move, for the kernel reads from them
};

}  // namespace

int main(int argc, char** argv) {
    bench::raise_descriptor_limit();
    const bool direct = argc > 2 && std::string_view(argv[2]) == "direct";
    const char* address = argc > 1 ? argv[1] : "127.0.0.1:7777";
    server limit{bench::listen_and_announce(address, 0, "tcp"), direct};
    limit.run();
}
