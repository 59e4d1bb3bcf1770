#pragma once

#include <csignal>
#include <ctime>

namespace coracle::detail {

/// sendfile and write have no MSG_NOSIGNAL, so a closed peer would end the process. The signal is
/// sent to the calling thread, so it is blocked and consumed here.
class without_sigpipe {
public:
    without_sigpipe() noexcept {
        sigemptyset(&pipe_);
        sigaddset(&pipe_, SIGPIPE);
        ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    without_sigpipe(const without_sigpipe&) = delete;
    without_sigpipe& operator=(const without_sigpipe&) = delete;
    ~without_sigpipe() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

    /// Consumes the signal, after a call that failed with EPIPE.
    void take_signal() const noexcept {
        const timespec at_once{};
        ::sigtimedwait(&pipe_, nullptr, &at_once);
    }

private:
    sigset_t pipe_;
    sigset_t before_;
};

}  // namespace coracle::detail
