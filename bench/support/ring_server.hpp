#pragma once

// The least loop on io_uring: one multishot accept, one multishot receive for each connection with
// buffers that the ring provides, one system call for each turn.

#include "sockets.hpp"

#include <liburing.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

struct ring_buffers {
    unsigned count;  // a power of two
    unsigned size;
};

// `Connections` holds them by descriptor; where the kernel sends from one, they must not move.
// `Derived` has `received(fd, connection, bytes, buffer)`, which gives back the buffer or keeps it,
// `ended(fd, connection)` and `sent(fd, connection, result)`; everything is inlined into it.
template <class Derived, ring_buffers Shape, class Connections>
class ring_server {
public:
    explicit ring_server(int listener) : listener_{listener} {
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

protected:
    void give_back(unsigned id) {
        io_uring_buf_ring_add(buffers_, memory_.data() + std::size_t{id} * Shape.size, Shape.size,
                              static_cast<unsigned short>(id), static_cast<int>(Shape.count - 1),
                              returned_++);
    }

    // `bytes` must stay until `sent` is called for them.
    void send_later(int fd, std::string_view bytes) {
        io_uring_sqe* sqe = entry();
        io_uring_prep_send(sqe, fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        mark(sqe, fd, sending);
    }

private:
    enum operation : std::uint64_t { accepting, receiving, sending };

    static void check(int result, const char* what) {
        if (result >= 0) return;
        errno = -result;
        fail(what);
    }

    void provide_buffers() {
        memory_.resize(std::size_t{Shape.count} * Shape.size);
        const std::size_t size = Shape.count * sizeof(io_uring_buf);
        void* place = nullptr;
        if (posix_memalign(&place, 4096, size) != 0) fail("posix_memalign");
        buffers_ = static_cast<io_uring_buf_ring*>(place);
        std::memset(place, 0, size);
        io_uring_buf_reg registration{};
        registration.ring_addr = reinterpret_cast<std::uintptr_t>(place);
        registration.ring_entries = Shape.count;
        check(io_uring_register_buf_ring(&ring_, &registration, 0), "io_uring_register");
        for (unsigned i = 0; i < Shape.count; ++i) give_back(i);
        io_uring_buf_ring_advance(buffers_, std::exchange(returned_, 0));
    }

    io_uring_sqe* entry() {
        io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
        if (sqe != nullptr) return sqe;
        io_uring_submit(&ring_);
        return io_uring_get_sqe(&ring_);
    }

    // The io_uring_prep_ functions clear user_data, so it is set after them.
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
            case sending: self().sent(fd, at(fd), cqe.res); break;
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
        if ((cqe.flags & IORING_CQE_F_BUFFER) != 0) {
            const unsigned id = cqe.flags >> IORING_CQE_BUFFER_SHIFT;
            if (cqe.res > 0) {
                self().received(fd, at(fd),
                                {memory_.data() + std::size_t{id} * Shape.size,
                                 static_cast<std::size_t>(cqe.res)},
                                id);
            } else {
                give_back(id);
            }
        }
        if ((cqe.flags & IORING_CQE_F_MORE) != 0) return;
        if (cqe.res > 0 || cqe.res == -ENOBUFS) {
            receive(fd);
        } else {
            self().ended(fd, at(fd));
        }
    }

    Derived& self() { return static_cast<Derived&>(*this); }
    auto& at(int fd) { return connections_[static_cast<std::size_t>(fd)]; }

    int listener_;
    io_uring ring_{};
    io_uring_buf_ring* buffers_ = nullptr;
    int returned_ = 0;
    std::vector<char> memory_;
    Connections connections_;  // by descriptor
};

}  // namespace bench
