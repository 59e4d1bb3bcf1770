#pragma once

#include <csignal>
#include <initializer_list>

namespace coracle::detail {

enum class signals_to_block : unsigned char { all, of_other_threads };

/// Blocks signals on this thread while it lives. A thread that is started meanwhile keeps them
/// blocked. `of_other_threads` are those that another thread or task may wait for: all but those of
/// a fault of the thread itself, whose handler the kernel runs there or not at all, and SIGPROF,
/// with which profilers look at a thread.
class blocked_signals {
public:
    explicit blocked_signals(signals_to_block which = signals_to_block::of_other_threads) noexcept {
        sigset_t blocked;
        ::sigfillset(&blocked);
        if (which == signals_to_block::of_other_threads) {
            for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPROF}) {
                ::sigdelset(&blocked, own);
            }
        }
        ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
    }
    blocked_signals(const blocked_signals&) = delete;
    blocked_signals& operator=(const blocked_signals&) = delete;
    ~blocked_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_;
};

}  // namespace coracle::detail
