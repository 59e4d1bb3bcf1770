#include "process/running_process.hpp"

#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/thread_pool.hpp>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <new>

namespace coracle::process::detail {
namespace {

/// The failure of a call, by `errno`; without its subject where there is no memory for that.
error failure(const char* operation, int pid) noexcept {
    error e(std::error_code(errno, std::generic_category()), operation);
    try {
        e.on("process " + std::to_string(pid));
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the code says enough
    }
    return e;
}

/// The C library's waitid leaves out what the process used up.
int wait_for(int pidfd, siginfo_t& info, int options, rusage* usage) noexcept {
    for (;;) {
        info = {};
        const long r = ::syscall(SYS_waitid, P_PIDFD, pidfd, &info, options, usage);
        if (r == 0 || errno != EINTR) return static_cast<int>(r);
    }
}

duration to_duration(const timeval& t) noexcept {
    return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
}

exit_status status_of(const siginfo_t& info, const rusage& r) noexcept {
    resource_usage u;
    u.user_time = to_duration(r.ru_utime);
    u.system_time = to_duration(r.ru_stime);
    u.peak_memory = static_cast<std::uint64_t>(r.ru_maxrss) * 1024;
    if (info.si_code == CLD_EXITED) return exit_status::exited(info.si_status, u);
    return exit_status::killed(info.si_status, info.si_code == CLD_DUMPED, u);
}

void reap(const owned_fd& pidfd) noexcept {
    siginfo_t info;
    wait_for(pidfd.get(), info, WEXITED, nullptr);
}

/// Returns false where no thread can be asked to reap it.
bool post_reaping(int pidfd) noexcept {
    loop* const here = loop::current();
    thread_pool* const pool = here == nullptr ? nullptr : here->offload_pool();
    try {
        return pool != nullptr && pool->try_post([pidfd] { reap(owned_fd(pidfd)); });
    } catch (const std::bad_alloc&) {
        return false;
    }
}

/// A process that was killed ends soon, but the loop does not wait for that.
void reap_elsewhere(owned_fd pidfd) noexcept {
    const int fd = pidfd.release();
    if (!post_reaping(fd)) reap(owned_fd(fd));
}

}  // namespace

bool running_process::ended() const noexcept {
    siginfo_t info;
    return wait_for(pidfd(), info, WEXITED | WNOHANG | WNOWAIT, nullptr) == 0 && info.si_pid != 0;
}

running_process::~running_process() {
    if (!pidfd_ || reaped_) return;
    const bool killed = signal_to_end(SIGKILL).has_value();
    if (ended())
        reap(pidfd_);
    else if (killed)
        reap_elsewhere(std::move(pidfd_));
    // A process that cannot be signalled may never end: no thread can wait for it.
}

std::expected<std::optional<exit_status>, error> running_process::try_reap() noexcept {
    siginfo_t info;
    rusage used{};
    // Checked without reaping first: until its leader is reaped, the number of a group belongs to
    // no other.
    for (const int look : {WNOWAIT, 0}) {
        if (wait_for(pidfd(), info, WEXITED | WNOHANG | look, &used) != 0) {
            if (errno == ECHILD) reaped_ = true;
            return std::unexpected(failure("waitid", pid_));
        }
        if (info.si_pid == 0) return std::optional<exit_status>();
        const bool group_ends = own_group_ && endings_ != 0;
        if (look != 0 && group_ends) static_cast<void>(signal_group(SIGKILL));
    }
    reaped_ = true;
    return status_of(info, used);
}

error running_process::gone(const char* operation, int pid) noexcept {
    errno = ESRCH;
    return failure(operation, pid);
}

std::expected<void, error> running_process::signal(int number) noexcept {
    if (::syscall(SYS_pidfd_send_signal, pidfd(), number, nullptr, 0) == 0) return {};
    if (!pidfd_) errno = ESRCH;
    return std::unexpected(failure("pidfd_send_signal", pid_));
}

std::expected<void, error> running_process::signal_group(int number) noexcept {
    // Once the system or other code has reaped it, its number may belong to another process.
    auto there = signal(0);
    if (!there && there.error() == std::errc::no_such_process) return there;
    errno = EPERM;
    if (own_group_ && ::kill(-pid_, number) == 0) return {};
    return std::unexpected(failure("kill group", pid_));
}

std::expected<void, error> running_process::signal_to_end(int number) noexcept {
    if (!own_group_) return signal(number);
    auto sent = signal_group(number);
    // Signalling others of its group does not prove that the leader itself can be reached.
    return sent ? signal(0) : sent;
}

}  // namespace coracle::process::detail
