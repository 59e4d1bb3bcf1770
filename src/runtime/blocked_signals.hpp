#pragma once

#include <csignal>

namespace coracle::detail {

/// Blocks all signals on this thread while it lives. A thread that is started meanwhile keeps them
/// blocked, so that none is delivered to it which another thread or task waits for.
class blocked_signals {
public:
    blocked_signals() noexcept {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, &before_);
    }
    blocked_signals(const blocked_signals&) = delete;
    blocked_signals& operator=(const blocked_signals&) = delete;
    ~blocked_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_;
};

}  // namespace coracle::detail
