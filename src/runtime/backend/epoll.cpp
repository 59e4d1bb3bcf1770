#include "runtime/backend/epoll.hpp"

#include "runtime/backend/prefetch.hpp"

#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/owned_fd.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <utility>

namespace coracle::detail {
namespace {

/// Marks foreign descriptors in the user data of epoll.
constexpr std::uintptr_t foreign_tag = 1;

void set_error(io_operation& op, int number) noexcept {
    op.result = -number;
}

}  // namespace

std::expected<std::unique_ptr<backend>, error> epoll_backend::open() {
    owned_fd epoll(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll) return std::unexpected(system_error(errno, "epoll_create1"));
    owned_fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event) return std::unexpected(system_error(errno, "eventfd"));
    epoll_event interest{};
    interest.events = EPOLLIN | EPOLLET;
    interest.data.ptr = nullptr;
    if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, event.get(), &interest) != 0) {
        return std::unexpected(system_error(errno, "epoll_ctl"));
    }
    std::unique_ptr<epoll_backend> b(new epoll_backend(epoll.get(), event.get()));
    static_cast<void>(epoll.release());
    static_cast<void>(event.release());
    return b;
}

epoll_backend::~epoll_backend() {
    ::close(event_);
    ::close(epoll_);
}

void epoll_backend::wake() noexcept {
    const std::uint64_t one = 1;
    // EAGAIN means that the counter is full, so a wake is under way.
    static_cast<void>(!::write(event_, &one, sizeof one));
}

std::expected<void, error> epoll_backend::attach(descriptor& d, int fd) noexcept {
    epoll_event interest{};
    interest.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET;
    interest.data.ptr = &d;
    ++counters_.system_calls;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &interest) != 0) {
        return std::unexpected(system_error(errno, "epoll_ctl"));
    }
    d.fd = fd;
    // The registration reports bytes that were received already, so the first read need not try.
    d.flags = writable;
    d.failure = 0;
    return {};
}

void epoll_backend::close(descriptor& d, bool reset) noexcept {
    if (!d.open()) return;
    forget_events(&d);
    // A new child process, or another duplicate of the descriptor, would keep the registration
    // alive, and it would report events of a closed descriptor.
    ++counters_.system_calls;
    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, d.fd, nullptr);
    close_number(d.fd, reset);
    d.fd = -1;
    d.flags = when_closed;
    d.watch = nullptr;
}

int epoll_backend::detach(descriptor& d) noexcept {
    if (!d.open()) return -1;
    // The registration belongs to the open file, which stays open.
    ++counters_.system_calls;
    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, d.fd, nullptr);
    forget_events(&d);
    d.flags = when_closed;
    d.watch = nullptr;
    return std::exchange(d.fd, -1);
}

bool epoll_backend::watch_hangup(descriptor& d, hangup_watch* w) noexcept {
    d.watch = nullptr;
    if (w == nullptr) return true;
    if (!d.open() || concerns(d, *w)) return false;
    d.watch = w;
    return true;
}

void epoll_backend::forget_events(void* source) noexcept {
    for (int i = current_; i < received_; ++i) {
        if (events_[i].data.ptr == source) events_[i].data.ptr = nullptr;
    }
}

bool epoll_backend::submit(io_operation& op) noexcept {
    // The most common case by far: a connection that has sent its response waits for the next
    // request.
    if (op.code == opcode::receive && (op.on->flags & readable) == 0 && op.on->input == nullptr) {
        op.on->input = &op;
        return false;
    }
    return submit_other(op);
}

[[gnu::noinline]] bool epoll_backend::submit_other(io_operation& op) noexcept {
    if (op.code == opcode::readable || op.code == opcode::writable) {
        return submit_foreign(static_cast<foreign_operation&>(op));
    }
    if (op.code == opcode::resolve || op.code == opcode::file) {
        op.result = -ENOSYS;
        return true;
    }
    if (is_second(op) || begin(op)) return true;
    place_of(op) = &op;
    return false;
}

void epoll_backend::cancel(io_operation& op) noexcept {
    if (op.code != opcode::readable && op.code != opcode::writable) {
        withdraw(op);
        return;
    }
    for (auto& f : foreigners_) {
        if (f->input == &op)
            f->input = nullptr;
        else if (f->output == &op)
            f->output = nullptr;
        else
            continue;
        asks_for_foreign_ = true;
        set_error(op, ECANCELED);
        loop::current()->complete_later(op);
        drop_if_unused(*f);
        return;
    }
}

void epoll_backend::dispatch(int index) noexcept {
    current_ = index;
    epoll_event& event = events_[index];
    void* const source = event.data.ptr;
    if (source == nullptr) return;
    const auto word = reinterpret_cast<std::uintptr_t>(source);
    if ((word & foreign_tag) != 0) {
        dispatch_foreign(*reinterpret_cast<foreign*>(word & ~foreign_tag), event.events);
        return;
    }
    auto& d = *static_cast<descriptor*>(source);
    const std::uint32_t e = event.events;
    if ((e & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) d.flags |= readable;
    if ((e & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) d.flags |= writable;
    if ((e & EPOLLRDHUP) != 0) d.flags |= peer_closed;
    if ((e & (EPOLLHUP | EPOLLERR)) != 0) d.flags |= broken;
    // A receive ends before the urgent byte, and leaves what follows it (tcp(7)).
    if ((e & EPOLLPRI) != 0) d.flags |= readable | reads_short;

    // Each completion may close the descriptor, which clears the word in the event.
    if ((d.flags & readable) != 0 && d.input != nullptr) complete_input(d);
    if (event.data.ptr != source) return;
    if ((d.flags & writable) != 0 && d.output != nullptr) complete_output(d);
    if (event.data.ptr != source) return;
    if (d.watch != nullptr && concerns(d, *d.watch)) {
        hangup_watch& w = *std::exchange(d.watch, nullptr);
        w.gone(w);
    }
}

int epoll_backend::wait_for_events(time_point until) noexcept {
    const waiting_mark mark(*this);
    if (until == time_point::max()) return ::epoll_wait(epoll_, events_, batch, -1);
    if (until == time_point::min()) return ::epoll_wait(epoll_, events_, batch, 0);
    const std::int64_t left = left_until(until);
    if (left <= 0) return ::epoll_wait(epoll_, events_, batch, 0);
    if (has_pwait2_) {
        const timespec t{left / 1'000'000'000, left % 1'000'000'000};
        const int n = ::epoll_pwait2(epoll_, events_, batch, &t, nullptr);
        // A seccomp filter that does not know this call returns EPERM.
        if (n >= 0 || errno == EINTR) return n;
        has_pwait2_ = false;
    }
    const std::int64_t milliseconds = (left + 999'999) / 1'000'000;
    return ::epoll_wait(epoll_, events_, batch,
                        static_cast<int>(milliseconds < 3'600'000 ? milliseconds : 3'600'000));
}

/// Returns the descriptor of the event at `index`, if it is one of ours; null after the last event.
inline descriptor* epoll_backend::descriptor_of(int index) const noexcept {
    void* const source = events_[index].data.ptr;
    const bool of_others = (reinterpret_cast<std::uintptr_t>(source) & foreign_tag) != 0;
    return of_others ? nullptr : static_cast<descriptor*>(source);
}

void epoll_backend::wait(time_point until) noexcept {
    const int n = wait_for_events(has_unfinished() ? time_point::min() : until);
    received_ = n < 0 ? 0 : n;
    counters_.events += static_cast<std::uint64_t>(received_);
    for (int i = 0; i != looked_ahead; ++i) events_[received_ + i].data.ptr = nullptr;
    for (int i = 0; i < received_; ++i) {
        prefetch_events(descriptor_of(i + 1), descriptor_of(i + 2), descriptor_of(i + 3));
        dispatch(i);
    }
    current_ = received_ = 0;
    if (has_unfinished()) continue_unfinished();
}

/// Returns null without memory.
epoll_backend::foreign* epoll_backend::add_foreign(int fd) noexcept {
    try {
        return foreigners_.emplace_back(std::make_unique<foreign>(fd)).get();
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

bool epoll_backend::submit_foreign(foreign_operation& op) noexcept {
    foreign* f = nullptr;
    for (auto& known : foreigners_) {
        if (known->fd == op.fd) f = known.get();
    }
    if (f == nullptr) f = add_foreign(op.fd);
    if (f == nullptr) {
        set_error(op, ENOMEM);
        return true;
    }
    auto& place = op.code == opcode::readable ? f->input : f->output;
    if (place != nullptr) {
        set_error(op, EBUSY);
        return true;
    }
    if (asks_for_foreign_ && foreign_is_ready(op)) {
        drop_if_unused(*f);
        return true;
    }
    place = &op;
    if (rearm(*f)) return false;
    place = nullptr;
    // A regular file cannot be polled: it is always ready.
    op.result = errno == EPERM ? 0 : -errno;
    drop_if_unused(*f);
    return true;
}

bool epoll_backend::rearm(foreign& f) noexcept {
    epoll_event interest{};
    interest.events = EPOLLONESHOT | (f.input != nullptr ? EPOLLIN | EPOLLRDHUP : 0u) |
                      (f.output != nullptr ? EPOLLOUT : 0u);
    interest.data.ptr = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(&f) | foreign_tag);
    const int action = f.registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (::epoll_ctl(epoll_, action, f.fd, &interest) != 0) return false;
    f.registered = true;
    return true;
}

void epoll_backend::drop_if_unused(foreign& f) noexcept {
    if (f.input != nullptr || f.output != nullptr) return;
    if (f.registered) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, f.fd, nullptr);
    forget_events(reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(&f) | foreign_tag));
    std::erase_if(foreigners_, [&f](const auto& known) { return known.get() == &f; });
}

void epoll_backend::dispatch_foreign(foreign& f, std::uint32_t events) noexcept {
    asks_for_foreign_ = false;
    io_operation* ready[2] = {nullptr, nullptr};
    if (f.input != nullptr && (events & ~std::uint32_t{EPOLLOUT}) != 0) {
        ready[0] = std::exchange(f.input, nullptr);
    }
    if (f.output != nullptr && (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) {
        ready[1] = std::exchange(f.output, nullptr);
    }
    if (f.input != nullptr || f.output != nullptr)
        static_cast<void>(rearm(f));
    else
        drop_if_unused(f);
    // From here on `f` may be destroyed. Completing through the loop protects a second completion
    // from the effects of the first.
    for (io_operation* op : ready) {
        if (op == nullptr) continue;
        op->result = 0;
        loop::current()->complete_later(*op);
    }
}

}  // namespace coracle::detail
