#include "runtime/backend/readiness_backend.hpp"

#include "runtime/backend/plain_calls.hpp"

#include <coracle/runtime/datagram_operation.hpp>
#include <coracle/runtime/loop.hpp>

#include <algorithm>
#include <cerrno>

namespace coracle::detail {

bool readiness_backend::has_input(descriptor& d) noexcept {
    // A read that was just filled leaves the flag, and nothing behind it.
    return (d.flags & readable) != 0 && peek(d.fd);
}

std::int64_t readiness_backend::try_send(descriptor& d, slice bytes) noexcept {
    if ((d.flags & writable) == 0) return -EAGAIN;
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
    return result < 0 ? -number : result;
}

/// Keeps in mind that a call would have waited; true when it has not.
bool readiness_backend::knows(descriptor& d, flag f, std::int64_t result) const noexcept {
    if (result != -EAGAIN) return true;
    d.flags &= ~std::uint32_t{f};
    return false;
}

bool readiness_backend::attempt_receive(receive_operation& op) noexcept {
    descriptor& d = *op.on;
    if ((d.flags & readable) == 0) return false;
    op.result = try_receive(op);
    // A short read has drained the socket, unless the end of the stream is behind it.
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
    // Fewer than a call takes: the queue is empty, unless an error stands behind them. An error
    // that has been told is over; a datagram socket lives on.
    const bool several = op.slots.size() > 1;
    const std::size_t asked = std::min(op.slots.size(), messages_operation::most);
    if (op.result < 0) {
        d.flags &= ~std::uint32_t{broken};
    } else if (several && static_cast<std::size_t>(op.result) < asked &&
               (d.flags & (peer_closed | broken)) == 0) {
        d.flags &= ~std::uint32_t{readable};
    }
    return knows(d, readable, op.result);
}

/// Whoever waits has made the system call himself, in vain: what is known is used up by telling
/// him.
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
            op.result = try_send_all(static_cast<send_operation&>(op));
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
    op.result = try_connect(static_cast<address_operation&>(op));
    if (op.result != -EINPROGRESS) return true;
    op.on->flags &= ~std::uint32_t{writable};
    return false;
}

io_operation*& readiness_backend::place_of(io_operation& op) noexcept {
    const bool reads = op.code == opcode::receive || op.code == opcode::receive_from ||
                       op.code == opcode::accept || op.code == opcode::receive_many ||
                       op.code == opcode::input_ready;
    return reads ? op.on->input : op.on->output;
}

bool readiness_backend::withdraw(io_operation& op) noexcept {
    // One without a descriptor completed when it was submitted, and only waits for its turn.
    if (op.on == nullptr) return false;
    io_operation*& place = place_of(op);
    if (place != &op) return false;
    place = nullptr;
    op.unlink();
    op.result = -ECANCELED;
    loop::current()->complete_later(op);
    return true;
}

std::int64_t readiness_backend::left_until(time_point until) noexcept {
    // A far deadline needs no fresh clock: it comes late by what this turn has taken, at most.
    constexpr duration far = std::chrono::milliseconds(100);
    const time_point asked = asked_at_.load(std::memory_order_relaxed);
    const time_point from = until - asked > far ? asked : now();
    return (until - from).count();
}

void readiness_backend::complete_input(descriptor& d) noexcept {
    io_operation& op = *d.input;
    // The commonest by far is asked for by name: 25 instructions of a request.
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
