#pragma once

namespace coracle::testing {

/// While it lives, a call of the system (or of liburing) fails the `at`-th time that this process
/// makes it, or from then on. The program of the integration tests replaces these functions by ones
/// that ask here first.
class failing_calls {
public:
    static constexpr const char* names[] = {
        "socket",
        "bind",
        "listen",
        "accept4",
        "connect",
        "getsockname",
        "getsockopt",
        "recv",
        "send",
        "sendmsg",
        "sendfile",
        "splice",
        "eventfd",
        "epoll_create1",
        "epoll_ctl",
        "epoll_wait",
        "epoll_pwait2",
        "poll",
        "ppoll",
        "pthread_create",
        "io_uring_submit",
        "io_uring_queue_init_params",
        "io_uring_register",
        "io_uring_register_buf_ring",
        "io_uring_register_ring_fd",
        "io_uring_submit_and_wait",
        "io_uring_submit_and_wait_timeout",
        "io_uring_submit_and_get_events",
    };

    failing_calls(const char* call, int number, unsigned at, bool from_then_on = false) noexcept;
    failing_calls(const failing_calls&) = delete;
    failing_calls& operator=(const failing_calls&) = delete;
    ~failing_calls();

    /// Returns true if this program replaces the functions.
    static bool available() noexcept;
    bool happened() const noexcept;

    /// True of calls that no signal can interrupt: their EINTR may end as an error.
    static bool may_report_interruption(const char* call) noexcept;

    /// For the replaced functions: the number to fail with, or 0.
    static int ask(const char* call) noexcept;
};

}  // namespace coracle::testing
