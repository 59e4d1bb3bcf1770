#include "io/terminal_restore.hpp"

#include <coracle/io/terminal.hpp>

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace coracle::io {
namespace {

/// `order` is written last and read first; 0: free.
struct remembered_mode {
    std::atomic<unsigned> order{0};
    int fd = -1;
    termios before{};
    bool hides = false;
};

constinit remembered_mode remembered[terminal::most_modes];
constinit unsigned last_order = 0;
constinit int in_force = 0;
constinit pid_t owner = -1;  ///< the process that set the modes

constexpr int fatal_signals[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT, SIGABRT,
                                 SIGSEGV, SIGBUS,  SIGFPE, SIGILL};

/// Makes a call that would stop a background program. Async-signal-safe.
template <class F>
int from_background(F call) noexcept {
    sigset_t stops;
    sigset_t before;
    sigemptyset(&stops);
    sigaddset(&stops, SIGTTOU);
    ::pthread_sigmask(SIG_BLOCK, &stops, &before);
    int result = 0;
    do {
        result = call();
    } while (result != 0 && errno == EINTR);
    const int number = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = number;
    return result;
}

/// Restores the newest first, so that the original mode is set in the end; not in a forked process,
/// whose terminal it is not to care for. Async-signal-safe.
void restore_all() noexcept {
    if (::getpid() != owner) return;
    unsigned below = ~0u;
    for (;;) {
        const remembered_mode* newest = nullptr;
        unsigned order = 0;
        for (const remembered_mode& m : remembered) {
            const unsigned o = m.order.load(std::memory_order_acquire);
            if (o < below && o > order) {
                newest = &m;
                order = o;
            }
        }
        if (newest == nullptr) return;
        if (newest->hides) drop_typed(newest->fd);
        set_terminal_mode(newest->fd, newest->before);
        below = order;
    }
}

extern "C" void restore_and_die(int number) {
    const int before = errno;
    restore_all();
    errno = before;
    // The signal is blocked until this returns, and then has its default effect.
    struct sigaction usual{};
    usual.sa_handler = SIG_DFL;
    ::sigaction(number, &usual, nullptr);
    ::raise(number);
}

void install_handlers() noexcept {
    for (const int number : fatal_signals) {
        struct sigaction now{};
        if (::sigaction(number, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 ||
            now.sa_handler != SIG_DFL) {
            continue;
        }
        struct sigaction ours{};
        ours.sa_handler = &restore_and_die;
        sigfillset(&ours.sa_mask);
        ::sigaction(number, &ours, nullptr);
    }
}

void remove_handlers() noexcept {
    for (const int number : fatal_signals) {
        struct sigaction now{};
        if (::sigaction(number, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 ||
            now.sa_handler != &restore_and_die) {
            continue;
        }
        struct sigaction usual{};
        usual.sa_handler = SIG_DFL;
        ::sigaction(number, &usual, nullptr);
    }
}

}  // namespace

int set_terminal_mode(int fd, const termios& mode) noexcept {
    return from_background([&] { return ::tcsetattr(fd, TCSANOW, &mode); });
}

void drop_typed(int fd) noexcept {
    from_background([&] { return ::tcflush(fd, TCIFLUSH); });
}

int remember_mode(int fd, const termios& before, bool hides) noexcept {
    owner = ::getpid();
    static const int registered = std::atexit(&restore_all);
    static_cast<void>(registered);
    for (int slot = 0; slot != terminal::most_modes; ++slot) {
        remembered_mode& m = remembered[slot];
        if (m.order.load(std::memory_order_relaxed) != 0) continue;
        m.fd = fd;
        m.before = before;
        m.hides = hides;
        if (in_force++ == 0) install_handlers();
        m.order.store(++last_order, std::memory_order_release);
        return slot;
    }
    return -1;
}

void take_back_mode(int slot) noexcept {
    remembered_mode& m = remembered[slot];
    set_terminal_mode(m.fd, m.before);
    m.order.store(0, std::memory_order_release);
    ::close(m.fd);
    if (--in_force == 0) remove_handlers();
}

}  // namespace coracle::io
