#include <coracle/runtime/readiness.hpp>
#include <coracle/runtime/signals.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/this_task.hpp>

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace coracle {

struct signal_set::mask {
    sigset_t set;
};

signal_set::signal_set(std::initializer_list<int> numbers) : blocked_(std::make_unique<mask>()) {
    sigset_t wanted;
    sigset_t before;
    sigemptyset(&wanted);
    for (const int n : numbers) sigaddset(&wanted, n);
    ::pthread_sigmask(SIG_BLOCK, &wanted, &before);
    // Not the whole mask is kept: other sets may come and go meanwhile.
    sigemptyset(&blocked_->set);
    for (const int n : numbers) {
        if (sigismember(&before, n) == 0) sigaddset(&blocked_->set, n);
    }
    fd_ = ::signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd_ >= 0) return;
    const std::error_code code(errno, std::generic_category());
    ::pthread_sigmask(SIG_UNBLOCK, &blocked_->set, nullptr);
    throw_exception(error(code, "signalfd"));
}

signal_set::~signal_set() {
    ::close(fd_);
    ::pthread_sigmask(SIG_UNBLOCK, &blocked_->set, nullptr);
}

namespace {

task<std::expected<received_signal, error>> next_signal(int fd) {
    for (;;) {
        // A stream of signals must not keep the loop. Where this is cancelled, it takes none.
        const bool is_cancelled = co_await this_task::stopped();
        if (is_cancelled || !loop::current()->may_complete_inline()) {
            auto turn = co_await as_result(yield());
            if (!turn) co_return std::unexpected(std::move(turn).error());
        }
        signalfd_siginfo info{};
        const ssize_t n = ::read(fd, &info, sizeof info);
        if (n == static_cast<ssize_t>(sizeof info)) {
            co_return received_signal{static_cast<int>(info.ssi_signo),
                                      static_cast<int>(info.ssi_pid), info.ssi_uid};
        }
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno != EAGAIN) {
            co_return std::unexpected(
                error(std::error_code(errno, std::generic_category()), "signalfd"));
        }
        auto ready = co_await as_result(readable(fd));
        if (!ready) co_return std::unexpected(std::move(ready).error());
    }
}

task<std::expected<int, error>> next_number(int fd) {
    auto s = co_await next_signal(fd);
    if (!s) co_return std::unexpected(std::move(s).error());
    co_return s->number;
}

}  // namespace

operation<int> signal_set::next() {
    return next_number(fd_);
}

operation<received_signal> signal_set::next_received() {
    return next_signal(fd_);
}

}  // namespace coracle
