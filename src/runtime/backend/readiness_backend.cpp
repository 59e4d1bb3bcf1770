#include "runtime/backend/readiness_backend.hpp"

#include "runtime/backend/plain_calls.hpp"

#include <coracle/runtime/datagram_operation.hpp>
#include <coracle/runtime/loop.hpp>

#include <poll.h>

#include <algorithm>
#include <cerrno>

namespace coracle::detail {

bool readiness_backend::has_input(descriptor& d) noexcept {
    // A read that filled its buffer leaves the flag set, though it may have taken the last byte.
    return (d.flags & readable) != 0 && peek(d);
}

std::int64_t readiness_backend::try_send(descriptor& d, slice bytes) noexcept {
    // A pending operation may be amid its bytes though there is room again.
    if ((d.flags & writable) == 0 || d.output != nullptr) return -EAGAIN;
    ++counters_.system_calls;
    const ssize_t n = plain_send(d.fd, bytes.data, bytes.size, MSG_NOSIGNAL);
    return n == static_cast<ssize_t>(bytes.size) ? n : sent_less(d, bytes, n);
}

[[gnu::noinline]] std::int64_t readiness_backend::sent_less(descriptor& d, slice bytes,
                                                            std::int64_t result) noexcept {
    while (result < 0 && errno == EINTR) {
        ++counters_.system_calls;
        result = plain_send(d.fd, bytes.data, bytes.size, MSG_NOSIGNAL);
    }
    const int number = errno;
    // A short count means that the socket is full.
    if (result < 0 ? number == EAGAIN : static_cast<std::size_t>(result) < bytes.size) {
        d.flags &= ~std::uint32_t{writable};
    }
    return result < 0 ? true_result(d, -number) : result;
}

/// Records that a call would have blocked. Returns true if it did not.
bool readiness_backend::knows(descriptor& d, flag f, std::int64_t result) const noexcept {
    if (result != -EAGAIN) return true;
    d.flags &= ~std::uint32_t{f};
    return false;
}

bool readiness_backend::attempt_receive(receive_operation& op) noexcept {
    descriptor& d = *op.on;
    if ((d.flags & readable) == 0) return false;
    op.result = try_receive(op);
    // A short read has drained the socket, unless the end of the stream follows.
    constexpr std::uint32_t tells_nothing = peer_closed | broken | reads_short;
    if (op.result > 0 && op.into.spare_size() != 0 && (d.flags & tells_nothing) == 0) {
        d.flags &= ~std::uint32_t{readable};
    }
    return knows(d, readable, op.result);
}

bool readiness_backend::attempt_receive_many(messages_operation& op) noexcept {
    descriptor& d = *op.on;
    if ((d.flags & readable) == 0) return false;
    op.result = try_receive_many(op);
    // Fewer datagrams than a call takes: the queue is empty, unless an error follows. A reported
    // error is cleared, and the socket stays usable.
    const bool several = op.slots.size() > 1;
    const std::size_t requested = std::min(op.slots.size(), messages_operation::most);
    if (op.result < 0) {
        d.flags &= ~std::uint32_t{broken};
    } else if (several && static_cast<std::size_t>(op.result) < requested &&
               (d.flags & (peer_closed | broken)) == 0) {
        d.flags &= ~std::uint32_t{readable};
    }
    return knows(d, readable, op.result);
}

/// Consumes the readiness `f`, so that it is reported once: the task that waits for readiness makes
/// its system calls itself.
bool readiness_backend::take_readiness(io_operation& op, flag f) noexcept {
    descriptor& d = *op.on;
    if ((d.flags & f) == 0) return false;
    d.flags &= ~std::uint32_t{f};
    op.result = (d.flags & (peer_closed | broken)) != 0 ? 1 : 0;
    return true;
}

bool readiness_backend::attempt(io_operation& op) noexcept {
    descriptor& d = *op.on;
    switch (op.code) {
        case opcode::receive: return attempt_receive(static_cast<receive_operation&>(op));
        case opcode::accept:
            if ((d.flags & readable) == 0) return false;
            op.result = try_accept(static_cast<address_operation&>(op));
            return knows(d, readable, op.result);
        case opcode::receive_from:
            if ((d.flags & readable) == 0) return false;
            op.result = try_receive_from(static_cast<datagram_operation&>(op));
            return knows(d, readable, op.result);
        case opcode::send:
            if ((d.flags & writable) == 0) return false;
            op.result = try_send_all(static_cast<coracle::send_operation&>(op));
            return knows(d, writable, op.result);
        case opcode::send_to:
            if ((d.flags & writable) == 0) return false;
            op.result = try_send_to(static_cast<datagram_operation&>(op));
            return knows(d, writable, op.result);
        case opcode::send_file:
            if ((d.flags & writable) == 0) return false;
            op.result = try_send_file(static_cast<send_file_operation&>(op));
            if (op.result == unfinished) {
                unfinished_.push_back(op);
                return false;
            }
            return knows(d, writable, op.result);
        case opcode::receive_many:
            return attempt_receive_many(static_cast<messages_operation&>(op));
        case opcode::splice_in:
            // A short count means nothing: the pipe may have no space for more pages.
            if ((d.flags & readable) == 0) return false;
            op.result = try_splice_in(static_cast<splice_operation&>(op));
            return knows(d, readable, op.result);
        case opcode::splice_out:
            if ((d.flags & writable) == 0) return false;
            op.result = try_splice_out(static_cast<splice_operation&>(op));
            return knows(d, writable, op.result);
        case opcode::send_many:
            if ((d.flags & writable) == 0) return false;
            op.result = try_send_many(static_cast<messages_operation&>(op));
            return knows(d, writable, op.result);
        case opcode::connect:
            if ((d.flags & writable) == 0) return false;
            op.result = -socket_error(d.fd);
            return true;
        case opcode::input_ready: return take_readiness(op, readable);
        case opcode::output_ready: return take_readiness(op, writable);
        default: return false;
    }
}

bool readiness_backend::begin(io_operation& op) noexcept {
    if (op.code != opcode::connect) return attempt(op);
    // A socket that is not connected yet is reported as one whose peer is gone. Datagrams that came
    // before stay to be received.
    op.on->flags &= ~std::uint32_t{broken | peer_closed};
    op.result = try_connect(static_cast<address_operation&>(op));
    if (op.result != -EINPROGRESS) return true;
    op.on->flags &= ~std::uint32_t{writable};
    return false;
}

bool readiness_backend::is_input(opcode c) noexcept {
    return c == opcode::receive || c == opcode::receive_from || c == opcode::accept ||
           c == opcode::receive_many || c == opcode::input_ready || c == opcode::splice_in;
}

io_operation*& readiness_backend::place_of(io_operation& op) noexcept {
    return is_input(op.code) ? op.on->input : op.on->output;
}

bool readiness_backend::is_second(io_operation& op) noexcept {
    if (place_of(op) == nullptr) return false;
    op.result = -EBUSY;
    return true;
}

bool readiness_backend::withdraw(io_operation& op) noexcept {
    // An operation without a descriptor completed when it was submitted, and only waits to resume.
    if (op.on == nullptr) return false;
    io_operation*& place = place_of(op);
    if (place != &op) return false;
    place = nullptr;
    op.unlink();
    op.result = -ECANCELED;
    loop::current()->complete_later(op);
    return true;
}

void readiness_backend::forget_unready(const io_operation& op) noexcept {
    // A connecting socket is writable only when the connect has ended.
    if (op.code == opcode::connect) return;
    const bool reads = is_input(op.code);
    // For these a call that finds nothing has a meaning: a FIFO without a writer yet reports an
    // end.
    const bool only_notifies = op.code == opcode::input_ready || op.code == opcode::output_ready;
    if (only_notifies && poll_now(op.on->fd, reads) == 0) return;
    op.on->flags |= reads ? readable : writable;
}

/// Returns what poll(2) reports of a descriptor now; 0: nothing that ends a wait.
short readiness_backend::poll_now(int fd, bool reads) noexcept {
    pollfd p{fd, static_cast<short>(reads ? POLLIN | POLLRDHUP : POLLOUT), 0};
    return ::poll(&p, 1, 0) > 0 ? p.revents : short{0};
}

bool readiness_backend::foreign_is_ready(foreign_operation& op) noexcept {
    const short events = poll_now(op.fd, op.code == opcode::readable);
    op.result = (events & POLLNVAL) != 0 ? -EBADF : 0;
    return events != 0;
}

std::int64_t readiness_backend::left_until(time_point until) noexcept {
    // A far deadline does not need the current time: it may be late by the duration of this turn.
    constexpr duration far = std::chrono::milliseconds(100);
    const time_point asked = asked_at_.load(std::memory_order_relaxed);
    const time_point from = until - asked > far ? asked : now();
    return (until - from).count();
}

void readiness_backend::complete_input(descriptor& d) noexcept {
    io_operation& op = *d.input;
    // Calls the most common one directly: saves 25 instructions of a request.
    const bool done = op.code == opcode::receive
                          ? attempt_receive(static_cast<receive_operation&>(op))
                          : attempt(op);
    if (!done) return;
    d.input = nullptr;
    loop::current()->refill_inline_budget();
    op.completed(op);
}

void readiness_backend::complete_output(descriptor& d) noexcept {
    io_operation& op = *d.output;
    if (op.linked() || !attempt(op)) return;
    d.output = nullptr;
    loop::current()->refill_inline_budget();
    op.completed(op);
}

void readiness_backend::continue_unfinished() noexcept {
    intrusive_list<io_operation> now;
    now.splice(unfinished_);
    while (io_operation* op = now.pop_front()) {
        descriptor& d = *op->on;
        if (attempt(*op)) {
            d.output = nullptr;
            loop::current()->refill_inline_budget();
            op->completed(*op);
        } else if (!op->linked()) {
            waits_for_room(d);
        }
    }
}

}  // namespace coracle::detail
