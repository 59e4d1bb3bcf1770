#pragma once

#include <csignal>
#include <ctime>

namespace coracle::detail {

/// sendfile and write have no MSG_NOSIGNAL, so a closed peer would end the process. The signal is
/// sent to the calling thread, so it is blocked and consumed here.
class without_sigpipe {
public:
    /// `may_come`: false where the descriptor is neither a pipe nor a socket, and nothing is to be
    /// done.
    explicit without_sigpipe(bool may_come = true) noexcept : may_come_(may_come) {
        if (!may_come_) return;
        sigemptyset(&pipe_);
        sigaddset(&pipe_, SIGPIPE);
        ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    without_sigpipe(const without_sigpipe&) = delete;
    without_sigpipe& operator=(const without_sigpipe&) = delete;
    ~without_sigpipe() {
        if (may_come_) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

    /// Consumes the signal, after a call that failed with EPIPE, or that transferred less than it
    /// was to.
    void take_signal() const noexcept {
        if (!may_come_) return;
        const timespec at_once{};
        ::sigtimedwait(&pipe_, nullptr, &at_once);
    }

private:
    sigset_t pipe_;
    sigset_t before_;
    bool may_come_;
};

}  // namespace coracle::detail
