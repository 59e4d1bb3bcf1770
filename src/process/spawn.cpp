#include "process/spawn.hpp"

#include "runtime/blocked_signals.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#if defined(__SANITIZE_THREAD__)
#define CORACLE_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CORACLE_THREAD_SANITIZER
#endif
#endif

/// clone(2) by the name that ThreadSanitizer does not intercept: its interceptor takes the new
/// process for a copy of ours.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int __clone(int (*)(void*), void*, int, void*, ...);

namespace coracle::process::detail {
namespace {

struct newborn {
    const spawn_request& request;
    spawn_failure failure;
};

/// The kernel's sigaction: all default.
struct default_action {
    void (*handler)(int) = SIG_DFL;
    unsigned long flags = 0;
    void (*restorer)() = nullptr;
    unsigned long mask = 0;
};

constexpr std::size_t mask_size = 8;
constexpr int last_signal = 64;

// The code from here to `run_program` runs in the new process, in memory shared with the waiting
// thread and others. So it only makes system calls directly, which sanitizers do not intercept.
#define CORACLE_NEWBORN __attribute__((no_sanitize("address", "thread", "undefined")))

template <class... Argument>
CORACLE_NEWBORN long call(long number, Argument... arguments) noexcept {
    return ::syscall(number, arguments...);
}

CORACLE_NEWBORN bool fails(newborn& n, const char* what) noexcept {
    n.failure.call = what;
    n.failure.number = errno;
    return false;
}

/// Handlers would run in our memory. SIGHUP that we ignore stays ignored: that is what nohup is.
CORACLE_NEWBORN void reset_signals() noexcept {
    const default_action usual;
    for (int number = 1; number <= last_signal; ++number) {
        default_action now;
        if (number == SIGHUP) call(SYS_rt_sigaction, number, nullptr, &now, mask_size);
        if (now.handler != SIG_IGN) {
            call(SYS_rt_sigaction, number, &usual, nullptr, mask_size);
        }
    }
}

CORACLE_NEWBORN bool join_session(newborn& n) noexcept {
    const spawn_request& r = n.request;
    if (r.new_session && call(SYS_setsid) < 0) return fails(n, "setsid");
    if (!r.new_session && r.own_group && call(SYS_setpgid, 0, 0) < 0) return fails(n, "setpgid");
    if (r.terminal >= 0 && call(SYS_ioctl, r.terminal, TIOCSCTTY, 0) < 0) {
        return fails(n, "ioctl TIOCSCTTY");
    }
    return true;
}

/// Kernels before 5.11 know no such flag.
CORACLE_NEWBORN void close_others_on_exec() noexcept {
    if (call(SYS_close_range, 3u, ~0u, unsigned{CLOSE_RANGE_CLOEXEC}) == 0) return;
    rlimit most{};
    call(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &most);
    constexpr rlim_t reasonable = 65'536;
    const auto end = static_cast<int>(std::min(most.rlim_cur, reasonable));
    for (int fd = 3; fd < end; ++fd) call(SYS_fcntl, fd, F_SETFD, FD_CLOEXEC);
}

CORACLE_NEWBORN bool is_target(const newborn& n, int number) noexcept {
    for (const descriptor_map& m : n.request.descriptors) {
        if (m.number == number) return true;
    }
    return false;
}

/// First moves all sources to numbers that are no targets, so that none is overwritten before it is
/// copied. Copies that came to a target's number are overwritten later.
CORACLE_NEWBORN bool arrange_descriptors(newborn& n) noexcept {
    for (descriptor_map& m : n.request.descriptors) {
        n.failure.at = static_cast<std::size_t>(&m - n.request.descriptors.data());
        int from = 3;
        do {
            m.moved = static_cast<int>(call(SYS_fcntl, m.source, F_DUPFD_CLOEXEC, from));
            if (m.moved < 0) return fails(n, "fcntl F_DUPFD_CLOEXEC");
            from = m.moved + 1;
        } while (is_target(n, m.moved));
    }
    close_others_on_exec();
    for (const descriptor_map& m : n.request.descriptors) {
        if (call(SYS_dup3, m.moved, m.number, 0) < 0) return fails(n, "dup3");
    }
    return true;
}

/// Returns true for errors behind which execvp looks into the next directory.
CORACLE_NEWBORN bool may_be_elsewhere(int number) noexcept {
    return number == ENOENT || number == ENOTDIR || number == EACCES || number == ESTALE ||
           number == ENODEV || number == ETIMEDOUT;
}

/// Programs that use select(2), or close all that there may be, want no limit as large as ours.
CORACLE_NEWBORN void limit_descriptors(std::uint64_t to) noexcept {
    rlimit now{};
    if (to == 0 || call(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &now) < 0) return;
    now.rlim_cur = std::min<rlim_t>(to, now.rlim_max);
    call(SYS_prlimit64, 0, RLIMIT_NOFILE, &now, nullptr);
}

/// Runs the program as execvp does, except that a script without an interpreter is an error.
CORACLE_NEWBORN bool execute(newborn& n) noexcept {
    bool refused = false;
    for (const char* const* path = n.request.candidates; *path != nullptr; ++path) {
        call(SYS_execve, *path, n.request.arguments, n.request.environment);
        refused = refused || errno == EACCES;
        if (!may_be_elsewhere(errno)) return fails(n, "execve");
    }
    if (refused) errno = EACCES;
    return fails(n, "execve");
}

CORACLE_NEWBORN int run_program(void* argument) {
    auto& n = *static_cast<newborn*>(argument);
    reset_signals();
    if (join_session(n) && arrange_descriptors(n)) {
        if (n.request.directory != nullptr && call(SYS_chdir, n.request.directory) < 0) {
            fails(n, "chdir");
        } else {
            const unsigned long none = 0;
            call(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, mask_size);
            limit_descriptors(n.request.descriptor_limit);
            execute(n);
        }
    }
    call(SYS_exit_group, 127);
    return 127;
}

/// The stack of the new process until it has a memory of its own.
class newborn_stack {
public:
    newborn_stack() noexcept
        : at_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK,
                     -1, 0)) {}
    newborn_stack(const newborn_stack&) = delete;
    newborn_stack& operator=(const newborn_stack&) = delete;
    ~newborn_stack() {
        if (at_ != MAP_FAILED) ::munmap(at_, size);
    }
    /// Stacks grow downwards. Returns null if there was no memory.
    void* top() const noexcept {
        return at_ == MAP_FAILED ? nullptr : static_cast<char*>(at_) + size;
    }

private:
    static constexpr std::size_t size = 64 * 1024;
    void* at_;
};

}  // namespace

std::expected<running_process, spawn_failure> spawn(const spawn_request& request) noexcept {
    const newborn_stack stack;
    if (stack.top() == nullptr) return std::unexpected(spawn_failure{"mmap", errno});
    newborn n{request, {}};
    int pidfd = -1;
    int pid = -1;
    int number = 0;
    {
        // They wait until the new process has forgotten our handlers.
        using coracle::detail::signals_to_block;
        const coracle::detail::blocked_signals quiet(signals_to_block::all);
        constexpr int flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD;
#ifdef CORACLE_THREAD_SANITIZER
        pid = ::__clone(&run_program, stack.top(), flags, &n, &pidfd);
#else
        pid = ::clone(&run_program, stack.top(), flags, &n, &pidfd);
#endif
        number = errno;
    }
    if (pid < 0) return std::unexpected(spawn_failure{"clone", number});
    running_process started(pid, owned_fd(pidfd), request.own_group);
    if (n.failure.call == nullptr) return started;
    siginfo_t info;
    ::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | WNOWAIT);
    return std::unexpected(n.failure);
}

}  // namespace coracle::process::detail
