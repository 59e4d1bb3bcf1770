// The side of the io_uring backend that faces the kernel: the ring, and the requests that go
// through it.

#include "runtime/backend/uring.hpp"

#include <poll.h>

#include <atomic>
#include <cassert>
#include <cerrno>
#include <utility>

namespace coracle::detail {
namespace {

/// A unique number for each thread; the system reuses its thread IDs.
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

/// A ring with a single issuer is bound to the thread that enables it, and the next run of the loop
/// may be on another thread. Then opens a new ring, and makes all requests again.
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
        // This ring cannot be enabled: the next one does not use the feature.
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
    if (can_multishot() && buffers_.open(ring_) < 0) features_ &= ~unsigned{multishot_receive};
    wake_is_armed_ = false;
    return true;
}

/// In a run that lasts, enters the ring's descriptor into the thread's table, which spares a
/// look-up in each call.
void uring_backend::count_wait() noexcept {
    --waits_until_registered_;
    if (waits_until_registered_ != 0 || (features_ & registered_ring) == 0) return;
    ring_is_registered_ = ::io_uring_register_ring_fd(&ring_) == 1;
    if (!ring_is_registered_) features_ &= ~unsigned{registered_ring};
}

/// Takes the ring out of the thread's table. There it would live as long as the thread, with all
/// that its requests hold open; and closing it elsewhere would take out the ring that has the same
/// place in the table of that other thread.
void uring_backend::leaves_thread() noexcept {
    waits_until_registered_ = waits_of_a_short_run;
    if (!std::exchange(ring_is_registered_, false)) return;
    ++counters_.system_calls;
    ::io_uring_unregister_ring_fd(&ring_);
}

/// Records the completions, and closes the ring, so that the kernel cancels its requests.
void uring_backend::abandon_ring() noexcept {
    if (!ring_is_open_) return;
    absorb();
    // The kernel would still write to the memory of file operations. There are none: a run ends
    // after its tasks, and they end after their operations.
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

/// Returns null if the kernel accepts no more requests now.
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
    // The event is never read: each write wakes the poll again, and its counter never overflows.
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

bool uring_backend::arm_poll(uring_entry& e, uring_request which, unsigned events,
                             bool multishot) noexcept {
    io_uring_sqe* sqe = next_request();
    if (sqe == nullptr) return false;
    if (multishot)
        ::io_uring_prep_poll_multishot(sqe, e.fd, events);
    else
        ::io_uring_prep_poll_add(sqe, e.fd, events);
    sqe->user_data = mark_of(e, which);
    e.armed |= which;
    return true;
}

/// Polls always report an end. After an end, a one-shot poll would complete at once, again and
/// again; a multishot poll reports later events only.
bool uring_backend::arm_watch(uring_entry& e) noexcept {
    e.watches_end = !e.owner->watch->ignores_end;
    if (e.watches_end) return arm_poll(e, watching, POLLRDHUP);
    return arm_poll(e, watching, POLLERR | POLLHUP, true);
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
        // Bytes arrived without a waiting task: later ones stay in the socket, and flow control
        // slows the peer.
        return e.first == uring_buffers::none || disarm(e, receiving);
    }
    if (op->code == opcode::receive) {
        const bool bulk = is_bulk(static_cast<const receive_operation&>(*op));
        if (e.has(receiving)) return !bulk || disarm(e, receiving);
        // Without lent buffers it would end at once, and be armed again, in a busy loop.
        const bool lends = can_multishot() && buffers_.lent() != 0 && !e.crowded;
        if (!bulk && lends) return disarm(e, reading) && arm_receive(e);
    }
    // After the last completion of the receive, the bytes belong to the splice.
    if (op->code == opcode::splice_in && e.has(receiving)) return disarm(e, receiving);
    // One of a single shot would be made anew for each message, and complete at once where bytes
    // have come meanwhile: ahead of those that wait. Of 6,000 connections some got a tenth of what
    // others did.
    return e.has(reading) || arm_poll(e, reading, POLLIN | POLLRDHUP | POLLPRI, true);
}

/// Makes the requests that `e` needs now. Returns false if the kernel accepts no more.
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
    const hangup_watch* const watch = e.owner->watch;
    // An armed receive reports the end itself.
    const bool deaf = watch != nullptr && !concerns(e, *watch) && !e.stays(receiving);
    if (!deaf) return true;
    if (!e.has(watching)) return arm_watch(e);
    return e.watches_end != watch->ignores_end || disarm(e, watching);
}

void uring_backend::apply_changes() noexcept {
    if (!wake_is_armed_) arm_wake();
    while (uring_change_link* link = changed_.front()) {
        if (!apply(static_cast<uring_entry&>(*link))) return;
        link->unlink();
    }
    if (files_.wants_requests()) queue_file_requests();
}

/// Puts the waiting operations on files into the ring, as far as there is room.
void uring_backend::queue_file_requests() noexcept {
    while (files_.wants_requests()) {
        io_uring_sqe* sqe = next_request();
        if (sqe == nullptr) return;
        files_.prepare(*sqe);
    }
}

/// Withdraws unsubmitted requests: their descriptor is about to be closed, and its number may be
/// reused.
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

/// Submits the prepared requests, and waits. Returns a negated errno on failure.
int uring_backend::submit_and_wait(time_point until) noexcept {
    if (until == time_point::min()) return ::io_uring_submit_and_get_events(&ring_);
    if (until == time_point::max()) return ::io_uring_submit_and_wait(&ring_, 1);
    const std::int64_t left = left_until(until);
    if (left <= 0) return ::io_uring_submit_and_get_events(&ring_);
    __kernel_timespec t{left / 1'000'000'000, left % 1'000'000'000};
    io_uring_cqe* first = nullptr;
    return ::io_uring_submit_and_wait_timeout(&ring_, &first, 1, &t, nullptr);
}

/// Makes the kernel do the rest of the deferred work: since 6.14 one call does at most 20 pieces of
/// it, fewer than an accept in each turn adds. A flood of TLS handshakes then left 1,400
/// connections open whose ends were never reported.
void uring_backend::take_deferred() noexcept {
    constexpr unsigned done_by_one_call = 20;
    // One that finds no room for its completion ends the request.
    const unsigned most = ring_.cq.ring_entries - done_by_one_call;
    unsigned before = 0;
    for (unsigned now = ::io_uring_cq_ready(&ring_);
         now >= before + done_by_one_call && now <= most; now = ::io_uring_cq_ready(&ring_)) {
        before = now;
        ++counters_.system_calls;
        if (::io_uring_get_events(&ring_) < 0) return;
    }
}

void uring_backend::enter(time_point until) noexcept {
    const waiting_mark mark(*this);
    // Retries requests that could not be made soon.
    if (!changed_.empty() || !wake_is_armed_ || files_.is_behind()) {
        const time_point soon = now() + std::chrono::milliseconds(1);
        if (soon < until) until = soon;
    }
    if (waits_until_registered_ != 0) count_wait();
    const int result = submit_and_wait(until);
    if ((features_ & deferred_work) != 0) take_deferred();
    if (result >= 0 || result == -ETIME || result == -EINTR) return;
    // Memory is short, or completions must be processed first: retries after a pause.
    constexpr int pause_ms = 1;
    if (::io_uring_cq_ready(&ring_) == 0) static_cast<void>(::poll(nullptr, 0, pause_ms));
}

}  // namespace coracle::detail
