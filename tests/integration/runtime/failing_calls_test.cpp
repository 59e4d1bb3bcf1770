#include "support/failing_calls.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <liburing.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstring>

#if defined(__SANITIZE_THREAD__)
#define CORACLE_UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CORACLE_UNDER_TSAN 1
#endif
#endif
#ifndef CORACLE_UNDER_TSAN
#define CORACLE_UNDER_TSAN 0
#endif

namespace coracle::testing {
namespace {

// Rings are opened on a thread of their own, so these are not thread-local.
std::atomic<const char*> failing = nullptr;
std::atomic<int> with = 0;
std::atomic<unsigned> left = 0;
std::atomic<bool> again = false;
std::atomic<bool> did = false;

}  // namespace

failing_calls::failing_calls(const char* call, int number, unsigned at,
                             bool from_then_on) noexcept {
    with = number;
    left = at;
    again = from_then_on;
    did = false;
    failing = call;
}

failing_calls::~failing_calls() {
    failing = nullptr;
}

bool failing_calls::available() noexcept {
    return !CORACLE_UNDER_TSAN;
}

bool failing_calls::happened() const noexcept {
    return did;
}

bool failing_calls::may_report_interruption(const char* call) noexcept {
    for (const char* const never :
         {"socket", "bind", "listen", "getsockname", "getsockopt", "eventfd", "epoll_create1",
          "epoll_ctl", "io_uring_queue_init_params", "io_uring_register",
          "io_uring_register_buf_ring", "io_uring_register_ring_fd", "pthread_create"}) {
        if (std::strcmp(call, never) == 0) return true;
    }
    return false;
}

int failing_calls::ask(const char* call) noexcept {
    const char* const which = failing;
    if (which == nullptr || std::strcmp(which, call) != 0) return 0;
    if (left > 1) {
        --left;
        return 0;
    }
    if (left == 0 && !again) return 0;
    left = 0;
    did = true;
    return with;
}

namespace {

template <class F>
F* real(const char* name) noexcept {
    return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace coracle::testing

using coracle::testing::failing_calls;
using coracle::testing::real;

// ThreadSanitizer knows by its own replacements which calls order what threads do.
#if !CORACLE_UNDER_TSAN

// The C library reports by errno, liburing by its result.
#define CORACLE_REPLACE(result, name, parameters, arguments)      \
    extern "C" result name parameters {                           \
        static auto* const next = real<result parameters>(#name); \
        if (const int number = failing_calls::ask(#name)) {       \
            errno = number;                                       \
            return -1;                                            \
        }                                                         \
        return next arguments;                                    \
    }
#define CORACLE_REPLACE_URING(name, parameters, arguments)                \
    extern "C" int name parameters {                                      \
        static auto* const next = real<int parameters>(#name);            \
        if (const int number = failing_calls::ask(#name)) return -number; \
        return next arguments;                                            \
    }

CORACLE_REPLACE(int, socket, (int a, int b, int c) noexcept, (a, b, c))
CORACLE_REPLACE(int, bind, (int a, const sockaddr* b, socklen_t c) noexcept, (a, b, c))
CORACLE_REPLACE(int, listen, (int a, int b) noexcept, (a, b))
CORACLE_REPLACE(int, accept4, (int a, sockaddr* b, socklen_t* c, int d), (a, b, c, d))
CORACLE_REPLACE(int, connect, (int a, const sockaddr* b, socklen_t c), (a, b, c))
CORACLE_REPLACE(int, getsockname, (int a, sockaddr* b, socklen_t* c) noexcept, (a, b, c))
CORACLE_REPLACE(int, getsockopt, (int a, int b, int c, void* d, socklen_t* e) noexcept,
                (a, b, c, d, e))
CORACLE_REPLACE(ssize_t, recv, (int a, void* b, size_t c, int d), (a, b, c, d))
CORACLE_REPLACE(ssize_t, send, (int a, const void* b, size_t c, int d), (a, b, c, d))
// Without sanitizers recv and send are made past the C library.
extern "C" long syscall(long number, ...) noexcept {
    using call = long(long, long, long, long, long, long, long);
    // Without a guard: whoever waits at one does so through this.
    static constinit std::atomic<call*> found = nullptr;
    call* next = found.load(std::memory_order_relaxed);
    if (next == nullptr) found.store(next = real<call>("syscall"), std::memory_order_relaxed);
    long a[6];
    va_list list;
    va_start(list, number);
    for (long& each : a) each = va_arg(list, long);
    va_end(list);
    const char* const name = number == SYS_recvfrom ? "recv" : number == SYS_sendto ? "send" : "";
    if (const int failure = failing_calls::ask(name)) {
        errno = failure;
        return -1;
    }
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
CORACLE_REPLACE(ssize_t, sendmsg, (int a, const msghdr* b, int c), (a, b, c))
extern "C" ssize_t sendfile(int a, int b, off_t* c, size_t d) noexcept {
    static auto* const next = real<ssize_t(int, int, off_t*, size_t)>("sendfile");
    const int number = failing_calls::ask("sendfile");
    // As in the kernel, when it comes behind a part: that has gone, and the signal was raised.
    if (number == EPIPE && d > 1) {
        ::pthread_kill(::pthread_self(), SIGPIPE);
        return next(a, b, c, 1);
    }
    if (number == 0) return next(a, b, c, d);
    errno = number;
    return -1;
}
CORACLE_REPLACE(ssize_t, splice, (int a, off_t* b, int c, off_t* d, size_t e, unsigned f),
                (a, b, c, d, e, f))
CORACLE_REPLACE(int, fsync, (int a), (a))
CORACLE_REPLACE(int, inotify_add_watch, (int a, const char* b, std::uint32_t c) noexcept, (a, b, c))
CORACLE_REPLACE(int, eventfd, (unsigned a, int b) noexcept, (a, b))
CORACLE_REPLACE(int, epoll_create1, (int a) noexcept, (a))
CORACLE_REPLACE(int, epoll_ctl, (int a, int b, int c, epoll_event* d) noexcept, (a, b, c, d))
CORACLE_REPLACE(int, epoll_wait, (int a, epoll_event* b, int c, int d), (a, b, c, d))
CORACLE_REPLACE(int, epoll_pwait2,
                (int a, epoll_event* b, int c, const timespec* d, const sigset_t* e),
                (a, b, c, d, e))
CORACLE_REPLACE(int, poll, (pollfd * a, nfds_t b, int c), (a, b, c))
CORACLE_REPLACE(int, ppoll, (pollfd * a, nfds_t b, const timespec* c, const sigset_t* d),
                (a, b, c, d))
CORACLE_REPLACE_URING(io_uring_queue_init_params, (unsigned a, io_uring* b, io_uring_params* c),
                      (a, b, c))
CORACLE_REPLACE_URING(io_uring_register, (unsigned a, unsigned b, const void* c, unsigned d),
                      (a, b, c, d))
CORACLE_REPLACE_URING(io_uring_register_buf_ring, (io_uring * a, io_uring_buf_reg* b, unsigned c),
                      (a, b, c))
CORACLE_REPLACE_URING(io_uring_register_ring_fd, (io_uring * a), (a))
CORACLE_REPLACE_URING(io_uring_submit, (io_uring * a), (a))
CORACLE_REPLACE_URING(io_uring_submit_and_wait, (io_uring * a, unsigned b), (a, b))
CORACLE_REPLACE_URING(io_uring_submit_and_wait_timeout,
                      (io_uring * a, io_uring_cqe** b, unsigned c, __kernel_timespec* d,
                       sigset_t* e),
                      (a, b, c, d, e))
CORACLE_REPLACE_URING(io_uring_submit_and_get_events, (io_uring * a), (a))

using start_thread = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
// AddressSanitizer has to hear of every thread: this is its replacement, where there is one.
extern "C" [[gnu::weak]] start_thread __interceptor_pthread_create;

extern "C" int pthread_create(pthread_t* a, const pthread_attr_t* b, void* (*c)(void*),
                              void* d) noexcept {
    static auto* const next = &__interceptor_pthread_create != nullptr
                                  ? &__interceptor_pthread_create
                                  : real<start_thread>("pthread_create");
    // It reports by its result.
    if (const int number = failing_calls::ask("pthread_create")) return number;
    return next(a, b, c, d);
}

#endif

TEST(failing_calls, fail_once_at_the_time_that_they_are_told) {
    if (!failing_calls::available()) GTEST_SKIP() << "calls are not replaced in this build";
    const failing_calls second("listen", ENOMEM, 2);
    for (const int expected : {EBADF, ENOMEM, EBADF}) {
        EXPECT_EQ(::listen(-1, 1), -1);
        EXPECT_EQ(errno, expected);
    }
    EXPECT_TRUE(second.happened());
}
