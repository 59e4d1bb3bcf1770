// The side of the io_uring backend that faces the kernel: the ring, and what is asked through it.

#include "runtime/backend/uring.hpp"

#include <poll.h>

#include <atomic>
#include <cassert>
#include <cerrno>

namespace coracle::detail {
namespace {

/// A number that no two threads share; an id of the system's is used again.
std::uint64_t this_thread() noexcept {
    static std::atomic<std::uint64_t> last{0};
    constinit static thread_local std::uint64_t mine = 0;
    if (mine == 0) mine = last.fetch_add(1, std::memory_order_relaxed) + 1;
    return mine;
}

constexpr std::uint64_t wake_mark = 1;

std::uint64_t mark_of(const uring_entry& e, unsigned request) noexcept {
    return reinterpret_cast<std::uintptr_t>(&e) | request;
}

}  // namespace

bool uring_backend::on_its_thread() const noexcept {
    return ring_is_open_ && thread_ == this_thread();
}

/// A ring with one issuer is bound to the thread that enables it, and the next run of the loop may
/// be on another. Then there is a new ring, and everything is asked for again.
bool uring_backend::settle_on_this_thread() noexcept {
    if (thread_ == this_thread()) return true;
    if (thread_ != 0) abandon_ring();
    for (;;) {
        if (!ring_is_open_) {
            const auto opened = open_ring(ring_, allowed_);
            if (!opened) return false;
            features_ = *opened;
            ring_is_open_ = true;
        }
        if (enable_ring()) break;
        // It cannot be used as it is: the next one does without.
        ::io_uring_queue_exit(&ring_);
        ring_is_open_ = false;
        allowed_ &= ~unsigned{deferred_work};
    }
    thread_ = this_thread();
    return true;
}

bool uring_backend::enable_ring() noexcept {
    // liburing 2.3 declares io_uring_enable_rings, but does not export it.
    if ((features_ & deferred_work) != 0 &&
        ::io_uring_register(static_cast<unsigned>(ring_.ring_fd), IORING_REGISTER_ENABLE_RINGS,
                            nullptr, 0) < 0) {
        return false;
    }
    if ((features_ & registered_ring) != 0 && ::io_uring_register_ring_fd(&ring_) != 1) {
        features_ &= ~unsigned{registered_ring};
    }
    if (can_multishot() && buffers_.open(ring_) < 0) features_ &= ~unsigned{multishot_receive};
    wake_is_armed_ = false;
    return true;
}

/// Takes what has come, and leaves the ring to the kernel, which cancels what is asked of it.
void uring_backend::abandon_ring() noexcept {
    if (!ring_is_open_) return;
    absorb();
    // The kernel would go on writing to the memory of theirs. A run ends after its tasks, and they
    // after their operations.
    assert(files_.in_flight() == 0);
    ::io_uring_queue_exit(&ring_);
    ring_is_open_ = false;
    thread_ = 0;
    buffers_.forget_lent();
    for (auto& some : entries_) {
        for (std::size_t i = 0; i != chunk; ++i) {
            uring_entry& e = some[i];
            if (e.owner != nullptr && e.has(receiving)) e.owner->flags |= readable;
            const bool was_armed = e.armed != 0;
            e.armed = e.ending = 0;
            if (e.open())
                change(e);
            else if (was_armed)
                release_if_unused(e);
        }
    }
}

/// Null when the kernel takes no more for now.
io_uring_sqe* uring_backend::next_request() noexcept {
    io_uring_sqe* sqe = ::io_uring_get_sqe(&ring_);
    if (sqe != nullptr) return sqe;
    ++counters_.system_calls;
    ::io_uring_submit(&ring_);
    return ::io_uring_get_sqe(&ring_);
}

void uring_backend::arm_wake() noexcept {
    io_uring_sqe* sqe = next_request();
    if (sqe == nullptr) return;
    // The event is never read: each write wakes the poll anew, and its counter overflows never.
    ::io_uring_prep_poll_multishot(sqe, event_, POLLIN);
    sqe->user_data = wake_mark;
    wake_is_armed_ = true;
}

bool uring_backend::arm_receive(uring_entry& e) noexcept {
    io_uring_sqe* sqe = next_request();
    if (sqe == nullptr) return false;
    ::io_uring_prep_recv_multishot(sqe, e.fd, nullptr, 0, 0);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    sqe->buf_group = uring_buffers::group;
    sqe->user_data = mark_of(e, receiving);
    e.armed |= receiving;
    return true;
}

bool uring_backend::arm_poll(uring_entry& e, uring_request which, unsigned events) noexcept {
    io_uring_sqe* sqe = next_request();
    if (sqe == nullptr) return false;
    ::io_uring_prep_poll_add(sqe, e.fd, events);
    sqe->user_data = mark_of(e, which);
    e.armed |= which;
    return true;
}

bool uring_backend::disarm(uring_entry& e, unsigned requests) noexcept {
    for (unsigned which = receiving; which <= watching; which <<= 1) {
        if ((requests & which) == 0 || !e.stays(which)) continue;
        io_uring_sqe* sqe = next_request();
        if (sqe == nullptr) return false;
        ::io_uring_prep_cancel64(sqe, mark_of(e, which), 0);
        sqe->user_data = 0;
        e.ending |= static_cast<std::uint8_t>(which);
    }
    return true;
}

bool uring_backend::apply_input(uring_entry& e) noexcept {
    io_operation* const op = e.owner->input;
    if (op == nullptr) {
        // Bytes came that nobody waits for: what follows stays in the socket, and the peer feels
        // it.
        return e.first == uring_buffers::none || disarm(e, receiving);
    }
    if (op->code == opcode::receive) {
        const bool bulk = is_bulk(static_cast<const receive_operation&>(*op));
        if (e.has(receiving)) return !bulk || disarm(e, receiving);
        // With nothing lent it would end at once, and be armed again, as fast as the kernel can.
        if (can_multishot() && !bulk && buffers_.lent() != 0) return arm_receive(e);
    }
    return e.has(reading) || arm_poll(e, reading, POLLIN | POLLRDHUP);
}

/// Asks the kernel for what `e` wants now; false when it takes no more.
bool uring_backend::apply(uring_entry& e) noexcept {
    if (e.foreign != nullptr) {
        if (e.armed != 0) return true;
        return e.foreign->code == opcode::readable ? arm_poll(e, reading, POLLIN | POLLRDHUP)
                                                   : arm_poll(e, writing, POLLOUT);
    }
    if (e.owner == nullptr) return disarm(e, e.armed);
    if (!apply_input(e)) return false;
    const io_operation* const out = e.owner->output;
    if (out != nullptr && !out->linked() && !e.has(writing) && !arm_poll(e, writing, POLLOUT)) {
        return false;
    }
    // A receive that stays armed hears of the end by itself.
    const bool deaf = e.owner->watch != nullptr && !gone(e) && !e.stays(receiving);
    return !deaf || e.has(watching) || arm_poll(e, watching, POLLRDHUP);
}

void uring_backend::apply_changes() noexcept {
    if (!wake_is_armed_) arm_wake();
    while (uring_change_link* link = changed_.front()) {
        if (!apply(static_cast<uring_entry&>(*link))) return;
        link->unlink();
    }
    if (files_.wants_requests()) ask_for_files();
}

void uring_backend::ask_for_files() noexcept {
    while (files_.wants_requests()) {
        io_uring_sqe* sqe = next_request();
        if (sqe == nullptr) return;
        files_.prepare(*sqe);
    }
}

/// Takes back what the kernel refused to take for now: its descriptor is about to be closed, and
/// the number may soon be another's.
void uring_backend::withdraw_requests(uring_entry& e) noexcept {
    for (unsigned left = ::io_uring_sq_ready(&ring_); left != 0; --left) {
        io_uring_sqe& sqe = ring_.sq.sqes[(ring_.sq.sqe_tail - left) & ring_.sq.ring_mask];
        for (unsigned which = receiving; which <= watching; which <<= 1) {
            if (sqe.user_data != mark_of(e, which)) continue;
            ::io_uring_prep_nop(&sqe);
            sqe.user_data = 0;
            e.armed &= static_cast<std::uint8_t>(~which);
            break;
        }
    }
}

/// Submits what is asked for, and waits; a negated errno when that fails.
int uring_backend::submit_and_wait(time_point until) noexcept {
    if (until == time_point::min()) return ::io_uring_submit_and_get_events(&ring_);
    if (until == time_point::max()) return ::io_uring_submit_and_wait(&ring_, 1);
    const std::int64_t left = left_until(until);
    if (left <= 0) return ::io_uring_submit_and_get_events(&ring_);
    __kernel_timespec t{left / 1'000'000'000, left % 1'000'000'000};
    io_uring_cqe* first = nullptr;
    return ::io_uring_submit_and_wait_timeout(&ring_, &first, 1, &t, nullptr);
}

void uring_backend::enter(time_point until) noexcept {
    const waiting_mark mark(*this);
    // What could not be asked for is tried again soon.
    if (!changed_.empty() || !wake_is_armed_ || files_.is_behind()) {
        const time_point soon = now() + std::chrono::milliseconds(1);
        if (soon < until) until = soon;
    }
    const int result = submit_and_wait(until);
    if (result >= 0 || result == -ETIME || result == -EINTR) return;
    // Memory is short, or completions have to be taken first: not as fast as it can be tried.
    constexpr int pause_ms = 1;
    if (::io_uring_cq_ready(&ring_) == 0) static_cast<void>(::poll(nullptr, 0, pause_ms));
}

}  // namespace coracle::detail
