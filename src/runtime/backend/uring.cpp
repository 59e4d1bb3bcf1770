#include "runtime/backend/uring.hpp"

#include "runtime/backend/prefetch.hpp"

#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/owned_fd.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

namespace coracle::detail {

std::expected<std::unique_ptr<backend>, error> uring_backend::open(unsigned allowed,
                                                                   unsigned buffers) {
    owned_fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event) return std::unexpected(system_error(errno, "eventfd"));
    std::unique_ptr<uring_backend> b(new uring_backend(allowed, buffers, event.get()));
    static_cast<void>(event.release());
    std::expected<unsigned, error> used = 0u;
    // When a ring is closed, the kernel interrupts the threads that used it, including its creator:
    // a blocking call of the caller would then fail with EINTR.
    try {
        std::thread([&] { used = open_ring(b->ring_, allowed); }).join();
    } catch (const std::system_error& e) {
        used = std::unexpected(error(e.code(), "pthread_create"));
    }
    if (!used) return std::unexpected(used.error());
    b->features_ = *used;
    b->ring_is_open_ = true;
    return b;
}

uring_backend::~uring_backend() {
    if (ring_is_open_) ::io_uring_queue_exit(&ring_);
    ::close(event_);
}

void uring_backend::wake() noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(event_, &one, sizeof one));
}

uring_entry* uring_backend::take_entry() noexcept {
    if (unused_.empty()) {
        try {
            entries_.push_back(std::make_unique<uring_entry[]>(chunk));
        } catch (const std::bad_alloc&) {
            return nullptr;
        }
        for (std::size_t i = 0; i != chunk; ++i) unused_.push_back(entries_.back()[i]);
    }
    return static_cast<uring_entry*>(unused_.pop_front());
}

void uring_backend::release_if_unused(uring_entry& e) noexcept {
    if (e.open() || e.armed != 0) return;
    static_cast<uring_ready_link&>(e).unlink();
    unused_.push_front(e);
}

void uring_backend::drop_unread(uring_entry& e) noexcept {
    while (e.first != uring_buffers::none) {
        buffers_.give_back(std::exchange(e.first, buffers_.next(e.first)));
    }
}

std::expected<void, error> uring_backend::attach(descriptor& d, int fd) noexcept {
    uring_entry* const e = take_entry();
    if (e == nullptr) return std::unexpected(error(std::errc::not_enough_memory, "attach"));
    e->owner = &d;
    e->fd = fd;
    e->ending = 0;
    e->ended = false;
    e->crowded = false;
    d.fd = fd;
    d.state = e;
    d.flags = writable;
    d.failure = 0;
    return {};
}

void uring_backend::close(descriptor& d, bool reset) noexcept {
    const int fd = detach(d);
    if (fd >= 0) close_number(fd, reset);
}

int uring_backend::detach(descriptor& d) noexcept {
    if (!d.open()) return -1;
    uring_entry& e = entry_of(d);
    e.owner = nullptr;
    ++e.generation;
    drop_unread(e);
    static_cast<uring_ready_link&>(e).unlink();
    static_cast<uring_change_link&>(e).unlink();
    if (e.armed != 0 && on_its_thread()) withdraw_requests(e);
    if (e.armed != 0) {
        // A request holds the socket open, so it has to end before the socket can.
        if (!on_its_thread()) {
            abandon_ring();
        } else if (disarm(e, e.armed)) {
            ++counters_.system_calls;
            ::io_uring_submit_and_get_events(&ring_);
        } else {
            change(e);
        }
    }
    if (!static_cast<uring_change_link&>(e).linked()) release_if_unused(e);
    d.flags = when_closed;
    d.state = &closed_;
    d.watch = nullptr;
    return std::exchange(d.fd, -1);
}

bool uring_backend::watch_hangup(descriptor& d, hangup_watch* w) noexcept {
    d.watch = nullptr;
    if (w == nullptr) return true;
    if (!d.open()) return false;
    uring_entry& e = entry_of(d);
    if (concerns(e, *w)) return false;
    if (!e.stays(receiving)) {
        // The peer may have closed right after its last bytes, which only a poll reports.
        pollfd now{d.fd, POLLRDHUP, 0};
        ++counters_.system_calls;
        if (::poll(&now, 1, 0) == 1) note_end(d, static_cast<std::uint32_t>(now.revents));
        if (concerns(e, *w)) return false;
        change(e);
    }
    d.watch = w;
    return true;
}

bool uring_backend::has_input(descriptor& d) noexcept {
    const uring_entry& e = entry_of(d);
    if (e.first != uring_buffers::none || e.ended) return true;
    // Bytes of an armed receive have been reported already.
    return !e.stays(receiving) && peek(d);
}

/// Passes received bytes to the reader: the block itself, or as much as fits.
std::int64_t uring_backend::take_received(uring_entry& e, receive_operation& op) noexcept {
    const uring_buffers::number n = e.first;
    const std::string_view bytes = buffers_.bytes(n);
    if (!op.into && op.capacity >= buffer::default_capacity) {
        e.first = buffers_.next(n);
        op.into = buffers_.take(n);
        return static_cast<std::int64_t>(bytes.size());
    }
    if (!op.into && !op.into.try_obtain(op.capacity)) return -ENOMEM;
    const std::string_view part = bytes.substr(0, op.into.spare_size());
    op.into.append(part);
    buffers_.consume(n, part.size());
    if (part.size() == bytes.size()) {
        e.first = buffers_.next(n);
        buffers_.give_back(n);
    }
    return static_cast<std::int64_t>(part.size());
}

bool uring_backend::receive_now(uring_entry& e, receive_operation& op) noexcept {
    if (e.first != uring_buffers::none) {
        op.result = take_received(e, op);
        return true;
    }
    if (e.ended) {
        op.result = true_result(*op.on, e.end_result);
        return true;
    }
    return !e.has(receiving) && attempt_receive(op);
}

bool uring_backend::submit(io_operation& op) noexcept {
    if (op.code != opcode::receive) return submit_other(op);
    // The most common case by far: a connection that has sent its response, and whose receive is
    // still armed.
    uring_entry& e = entry_of(*op.on);
    auto& receive = static_cast<receive_operation&>(op);
    if (is_bulk(receive) || !waits_for_bytes(e) || op.on->input != nullptr) {
        return submit_receive(e, receive);
    }
    op.on->input = &op;
    return false;
}

[[gnu::noinline]] bool uring_backend::submit_receive(uring_entry& e,
                                                     receive_operation& op) noexcept {
    if (is_second(op) || (!waits_for_bytes(e) && receive_now(e, op))) return true;
    op.on->input = &op;
    change(e);
    return false;
}

[[gnu::noinline]] bool uring_backend::submit_other(io_operation& op) noexcept {
    if (op.code == opcode::readable || op.code == opcode::writable) {
        return submit_foreign(static_cast<foreign_operation&>(op));
    }
    if (op.code == opcode::file) return files_.take(static_cast<file_operation&>(op));
    if (op.code == opcode::resolve) {
        op.result = -ENOSYS;
        return true;
    }
    if (is_second(op)) return true;
    uring_entry& e = entry_of(*op.on);
    if (op.code == opcode::splice_in ? splice_now(e, op) : begin(op)) return true;
    place_of(op) = &op;
    change(e);
    return false;
}

/// Bytes that the kernel has received into blocks come first: a receive gives them, and then the
/// end or error. A receive that is armed would take the bytes to splice.
bool uring_backend::splice_now(uring_entry& e, io_operation& op) noexcept {
    if (e.first != uring_buffers::none || e.ended) {
        op.result = 0;
        return true;
    }
    return !e.has(receiving) && attempt(op);
}

/// Returns true if the operation that waits for input has completed.
bool uring_backend::attempt_input(uring_entry& e, io_operation& op) noexcept {
    switch (op.code) {
        case opcode::receive: return receive_now(e, static_cast<receive_operation&>(op));
        case opcode::splice_in: return splice_now(e, op);
        default: return attempt(op);
    }
}

bool uring_backend::note_foreign(uring_entry& e) noexcept {
    try {
        foreign_.push_back(&e);
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

bool uring_backend::submit_foreign(foreign_operation& op) noexcept {
    for (const uring_entry* e : foreign_) {
        if (e->fd == op.fd && e->foreign->code == op.code) {
            op.result = -EBUSY;
            return true;
        }
    }
    if (asks_for_foreign_ && foreign_is_ready(op)) return true;
    uring_entry* const e = take_entry();
    if (e == nullptr || !note_foreign(*e)) {
        if (e != nullptr) unused_.push_front(*e);
        op.result = -ENOMEM;
        return true;
    }
    e->foreign = &op;
    e->fd = op.fd;
    e->ending = 0;
    e->first = uring_buffers::none;
    change(*e);
    return false;
}

void uring_backend::cancel(io_operation& op) noexcept {
    if (op.code == opcode::file) {
        files_.cancel(static_cast<file_operation&>(op));
        return;
    }
    if (op.code != opcode::readable && op.code != opcode::writable) {
        if (withdraw(op)) forget_unready(op);
        return;
    }
    for (uring_entry*& place : foreign_) {
        uring_entry& e = *place;
        if (e.foreign != &op) continue;
        place = foreign_.back();
        foreign_.pop_back();
        asks_for_foreign_ = true;
        e.foreign = nullptr;
        if (e.armed != 0)
            change(e);
        else
            release_if_unused(e);
        op.result = -ECANCELED;
        loop::current()->complete_later(op);
        return;
    }
}

void uring_backend::absorb_received(uring_entry& e, const io_uring_cqe& c) noexcept {
    if ((c.flags & IORING_CQE_F_BUFFER) != 0) {
        const auto n = static_cast<uring_buffers::number>(c.flags >> IORING_CQE_BUFFER_SHIFT);
        buffers_.filled(n, c.res > 0 ? static_cast<std::size_t>(c.res) : 0);
        if (c.res <= 0 || e.owner == nullptr) {
            buffers_.give_back(n);
        } else if (e.first == uring_buffers::none) {
            e.first = e.last = n;
        } else {
            buffers_.next(e.last) = n;
            e.last = n;
        }
    }
    if ((c.flags & IORING_CQE_F_MORE) != 0) return;
    e.armed &= static_cast<std::uint8_t>(~receiving);
    e.ending &= static_cast<std::uint8_t>(~receiving);
    if (e.owner == nullptr) return;
    switch (c.res) {
        case -ENOBUFS:
            e.crowded = buffers_.lends_most();
            buffers_.run_out();
            break;
        case -EINVAL:
            // The kernel knows the operation, but not its multishot form.
            features_ &= ~unsigned{multishot_receive};
            break;
        case -ECANCELED:
        case -EAGAIN:
        case -EINTR:
        case -ENOMEM: break;
        default:
            if (c.res > 0) break;
            e.ended = true;
            e.end_result = c.res;
            true_result(*e.owner, c.res);
            return;
    }
    // The socket may have more: the next reader tries it.
    e.owner->flags |= readable;
}

void uring_backend::note_end(descriptor& d, std::uint32_t events) noexcept {
    if ((events & POLLRDHUP) != 0) d.flags |= peer_closed;
    if ((events & (POLLHUP | POLLERR)) != 0) d.flags |= broken;
}

void uring_backend::absorb_polled(uring_entry& e, unsigned which, std::int32_t result,
                                  bool goes_on) noexcept {
    if (!goes_on) {
        e.armed &= static_cast<std::uint8_t>(~which);
        e.ending &= static_cast<std::uint8_t>(~which);
    }
    if (e.foreign != nullptr) {
        e.foreign->result = result < 0 ? result : 0;
        return;
    }
    if (e.owner == nullptr || result == -ECANCELED) return;
    // After a failed poll the system call reports the error.
    const auto events =
        result < 0 ? std::uint32_t{POLLIN | POLLOUT} : static_cast<std::uint32_t>(result);
    std::uint32_t& flags = e.owner->flags;
    if ((events & (POLLIN | POLLRDHUP | POLLHUP | POLLERR)) != 0) flags |= readable;
    // A receive ends before the urgent byte, and leaves what follows it (tcp(7)).
    if ((events & POLLPRI) != 0) flags |= readable | reads_short;
    if ((events & (POLLOUT | POLLHUP | POLLERR)) != 0) flags |= writable;
    note_end(*e.owner, events);
}

void uring_backend::absorb(const io_uring_cqe& c) noexcept {
    if (uring_files::is_of_file(c.user_data)) {
        files_.absorb(c);
        return;
    }
    constexpr std::uint64_t requests = receiving | reading | writing | watching;
    auto* const e = reinterpret_cast<uring_entry*>(c.user_data & ~requests);
    const auto which = static_cast<unsigned>(c.user_data & requests);
    if (e == nullptr) {
        if (which != 0 && (c.flags & IORING_CQE_F_MORE) == 0) wake_is_armed_ = false;
        return;
    }
    if (which == receiving)
        absorb_received(*e, c);
    else
        absorb_polled(*e, which, c.res, (c.flags & IORING_CQE_F_MORE) != 0);
    ready_.push_back(*e);
}

/// Records all completions before processing any: a task that resumes with bytes must also see an
/// end that follows them.
void uring_backend::absorb() noexcept {
    unsigned head = 0;
    unsigned count = 0;
    io_uring_cqe* c = nullptr;
    io_uring_for_each_cqe(&ring_, head, c) {
        absorb(*c);
        ++count;
    }
    ::io_uring_cq_advance(&ring_, count);
    counters_.events += count;
}

void uring_backend::complete_foreign(uring_entry& e) noexcept {
    foreign_operation& op = *std::exchange(e.foreign, nullptr);
    std::erase(foreign_, &e);
    asks_for_foreign_ = false;
    release_if_unused(e);
    loop::current()->refill_inline_budget();
    op.completed(op);
}

void uring_backend::dispatch(uring_entry& e) noexcept {
    if (e.foreign != nullptr) {
        complete_foreign(e);
        return;
    }
    if (e.owner == nullptr) {
        release_if_unused(e);
        return;
    }
    // Each completion may close the descriptor.
    descriptor& d = *e.owner;
    const std::uint32_t generation = e.generation;
    if (d.input != nullptr && attempt_input(e, *d.input)) {
        io_operation& op = *std::exchange(d.input, nullptr);
        loop::current()->refill_inline_budget();
        op.completed(op);
    }
    if (e.generation != generation) return;
    if (d.output != nullptr && (d.flags & writable) != 0) complete_output(d);
    if (e.generation != generation) return;
    if (d.watch != nullptr && concerns(e, *d.watch)) {
        hangup_watch& w = *std::exchange(d.watch, nullptr);
        w.gone(w);
        if (e.generation != generation) return;
    }
    // An idle connection has its receive armed, or the poll for it, and nothing else.
    const unsigned usual = e.crowded || !can_multishot() ? reading : receiving;
    const bool idle = e.armed == usual && e.ending == 0 && e.first == uring_buffers::none;
    if (!idle || d.output != nullptr) change(e);
}

[[gnu::always_inline]] inline void uring_backend::prefetch_ready() noexcept {
    const auto behind = [this](uring_ready_link* link) {
        return link != nullptr ? ready_.next(*link) : nullptr;
    };
    const auto owner_of = [](uring_ready_link* link) {
        return link != nullptr ? static_cast<uring_entry*>(link)->owner : nullptr;
    };
    uring_ready_link* const next = ready_.front();
    uring_ready_link* const second = behind(next);
    prefetch_events(owner_of(next), owner_of(second), owner_of(behind(second)));
}

void uring_backend::wait(time_point until) noexcept {
    if (!settle_on_this_thread()) {
        // The new ring cannot be opened now: try again later.
        static_cast<void>(::poll(nullptr, 0, 10));
        return;
    }
    if (can_multishot()) buffers_.replenish();
    apply_changes();
    enter(has_unfinished() ? time_point::min() : until);
    absorb();
    while (uring_ready_link* link = ready_.pop_front()) {
        prefetch_ready();
        dispatch(static_cast<uring_entry&>(*link));
    }
    files_.complete();
    if (has_unfinished()) continue_unfinished();
}

}  // namespace coracle::detail
