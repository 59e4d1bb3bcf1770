#include "runtime/backend/poll.hpp"

#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/owned_fd.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <utility>

namespace coracle::detail {

std::expected<std::unique_ptr<backend>, error> poll_backend::open() {
    owned_fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event) return std::unexpected(system_error(errno, "eventfd"));
    std::unique_ptr<poll_backend> b(new poll_backend(event.get()));
    b->polled_.push_back({event.release(), POLLIN, 0});
    b->interests_.emplace_back();
    return b;
}

poll_backend::~poll_backend() {
    ::close(event_);
}

void poll_backend::wake() noexcept {
    const std::uint64_t one = 1;
    // EAGAIN means that the counter is full, so a wake is under way.
    static_cast<void>(!::write(event_, &one, sizeof one));
}

namespace {

/// Lets `v` have one element more than `size` without an allocation.
template <class V>
void reserve_for_another(V& v, std::size_t size) {
    constexpr std::size_t fewest = 16;
    if (v.capacity() <= size) v.reserve(std::max(fewest, 2 * size));
}

}  // namespace

std::size_t poll_backend::take_place(const interest& whose, int fd) {
    if (free_.empty()) {
        // The space for freeing the slot is reserved now, while a failure can still be reported.
        reserve_for_another(free_, polled_.size());
        reserve_for_another(interests_, polled_.size());
        polled_.push_back({-1, 0, 0});
        interests_.emplace_back();
        free_.push_back(polled_.size() - 1);
    }
    const std::size_t place = free_.back();
    free_.pop_back();
    interests_[place] = whose;
    polled_[place] = {fd, 0, 0};
    return place;
}

void poll_backend::free_place(std::size_t place) noexcept {
    interests_[place] = {};
    polled_[place] = {-1, 0, 0};
    free_.push_back(place);
}

std::expected<void, error> poll_backend::attach(descriptor& d, int fd) noexcept {
    try {
        const std::size_t place = take_place({&d, nullptr}, -1);
        d.flags = static_cast<std::uint32_t>(place << place_shift) | writable;
    } catch (const std::bad_alloc&) {
        return std::unexpected(error(std::errc::not_enough_memory, "attach"));
    }
    d.fd = fd;
    d.failure = 0;
    return {};
}

void poll_backend::close(descriptor& d, bool reset) noexcept {
    const int fd = detach(d);
    if (fd >= 0) close_number(fd, reset);
}

int poll_backend::detach(descriptor& d) noexcept {
    if (!d.open()) return -1;
    free_place(place_of_descriptor(d));
    d.flags = when_closed;
    d.watch = nullptr;
    return std::exchange(d.fd, -1);
}

/// Updates the events of `d` in the array. A descriptor without a wait has a negative number there,
/// or poll would report its hang-up forever.
void poll_backend::update(const descriptor& d) noexcept {
    pollfd& p = polled_[place_of_descriptor(d)];
    unsigned events = 0;
    if (d.input != nullptr) events |= POLLIN | POLLRDHUP;
    if (d.output != nullptr && !d.output->linked()) events |= POLLOUT;
    if (d.watch != nullptr && !d.watch->ignores_end) events |= POLLRDHUP;
    // poll(2) reports a hang-up without being asked to.
    p.fd = events != 0 || d.watch != nullptr ? d.fd : -1;
    p.events = static_cast<short>(events);
}

bool poll_backend::watch_hangup(descriptor& d, hangup_watch* w) noexcept {
    if (!d.open()) return w == nullptr;
    const bool gone = w != nullptr && concerns(d, *w);
    d.watch = gone ? nullptr : w;
    update(d);
    return !gone;
}

bool poll_backend::submit(io_operation& op) noexcept {
    if (op.code == opcode::readable || op.code == opcode::writable) {
        return submit_foreign(static_cast<foreign_operation&>(op));
    }
    if (op.code == opcode::resolve || op.code == opcode::file) {
        op.result = -ENOSYS;
        return true;
    }
    if (is_second(op) || begin(op)) return true;
    place_of(op) = &op;
    update(*op.on);
    return false;
}

bool poll_backend::submit_foreign(foreign_operation& op) noexcept {
    for (const interest& i : interests_) {
        if (i.foreign != nullptr && i.foreign->fd == op.fd && i.foreign->code == op.code) {
            op.result = -EBUSY;
            return true;
        }
    }
    try {
        const bool reads = op.code == opcode::readable;
        // poll ignores negative numbers; this one is an error.
        if (op.fd < 0) {
            op.result = -EBADF;
            return true;
        }
        if (asks_for_foreign_ && foreign_is_ready(op)) return true;
        const std::size_t place = take_place({nullptr, &op}, op.fd);
        polled_[place].events = static_cast<short>(reads ? POLLIN | POLLRDHUP : POLLOUT);
    } catch (const std::bad_alloc&) {
        op.result = -ENOMEM;
        return true;
    }
    return false;
}

void poll_backend::cancel(io_operation& op) noexcept {
    if (op.code != opcode::readable && op.code != opcode::writable) {
        if (!withdraw(op)) return;
        forget_unready(op);
        update(*op.on);
        return;
    }
    for (std::size_t place = 0; place != interests_.size(); ++place) {
        if (interests_[place].foreign != &op) continue;
        free_place(place);
        asks_for_foreign_ = true;
        op.result = -ECANCELED;
        loop::current()->complete_later(op);
        return;
    }
}

/// poll fails if the array is longer than the limit of descriptors, which may have been lowered, or
/// without memory. Then polls piece by piece, with short waits.
int poll_backend::poll_in_pieces() noexcept {
    constexpr std::size_t piece = 32;
    constexpr int pause_ms = 1;
    int count = 0;
    for (std::size_t at = 0; at < polled_.size(); at += piece) {
        const std::size_t left = polled_.size() - at;
        const int n = ::poll(&polled_[at], static_cast<nfds_t>(left < piece ? left : piece), 0);
        if (n > 0) count += n;
    }
    if (count == 0) ::poll(nullptr, 0, pause_ms);
    return count;
}

int poll_backend::wait_for_events(time_point until) noexcept {
    const waiting_mark mark(*this);
    timespec t{};
    if (until != time_point::max() && until != time_point::min()) {
        const std::int64_t left = (until - now()).count();
        if (left > 0) t = {left / 1'000'000'000, left % 1'000'000'000};
    }
    const int n = ::ppoll(polled_.data(), static_cast<nfds_t>(polled_.size()),
                          until == time_point::max() ? nullptr : &t, nullptr);
    return n < 0 && errno != EINTR ? poll_in_pieces() : n;
}

void poll_backend::dispatch(std::size_t place, unsigned events) noexcept {
    if (foreign_operation* const op = interests_[place].foreign) {
        free_place(place);
        asks_for_foreign_ = false;
        op->result = (events & POLLNVAL) != 0 ? -EBADF : 0;
        loop::current()->complete_later(*op);
        return;
    }
    descriptor* const owner = interests_[place].owner;
    if (owner == nullptr) return;
    descriptor& d = *owner;
    // Each completion may close the descriptor, and another may then take its place.
    const auto stands = [&] {
        return interests_[place].owner == owner && polled_[place].revents != 0;
    };
    if (d.input != nullptr && (d.flags & readable) != 0) complete_input(d);
    if (!stands()) return;
    if (d.output != nullptr && (d.flags & writable) != 0) complete_output(d);
    if (!stands()) return;
    if (d.watch != nullptr && concerns(d, *d.watch)) {
        hangup_watch& w = *std::exchange(d.watch, nullptr);
        w.gone(w);
        if (!stands()) return;
    }
    update(d);
}

/// Records the readiness of all descriptors before any operation continues.
void poll_backend::note_events(int count) noexcept {
    for (std::size_t i = 1; count > 0 && i != polled_.size(); ++i) {
        const auto events = static_cast<unsigned>(polled_[i].revents);
        if (events == 0) continue;
        --count;
        descriptor* const d = interests_[i].owner;
        if (d == nullptr) continue;
        if ((events & (POLLIN | POLLRDHUP | POLLHUP | POLLERR)) != 0) d->flags |= readable;
        if ((events & (POLLOUT | POLLHUP | POLLERR)) != 0) d->flags |= writable;
        if ((events & POLLRDHUP) != 0) d->flags |= peer_closed;
        if ((events & (POLLHUP | POLLERR | POLLNVAL)) != 0) d->flags |= broken;
    }
}

void poll_backend::wait(time_point until) noexcept {
    int count = wait_for_events(has_unfinished() ? time_point::min() : until);
    if (count > 0) {
        counters_.events += static_cast<std::uint64_t>(count);
        if (std::exchange(polled_[0].revents, short{0}) != 0) {
            --count;
            std::uint64_t wakes = 0;
            static_cast<void>(!::read(event_, &wakes, sizeof wakes));
        }
        note_events(count);
        for (std::size_t i = 1; count > 0 && i < polled_.size(); ++i) {
            const auto events = static_cast<unsigned>(polled_[i].revents);
            if (events == 0) continue;
            --count;
            dispatch(i, events);
            polled_[i].revents = 0;
        }
    }
    if (has_unfinished()) continue_unfinished();
}

}  // namespace coracle::detail
