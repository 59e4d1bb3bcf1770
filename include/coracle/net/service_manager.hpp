#pragma once

#include <coracle/net/address.hpp>
#include <coracle/runtime/clock.hpp>
#include <coracle/runtime/operation.hpp>
#include <coracle/runtime/owned_fd.hpp>

#include <expected>
#include <string>
#include <string_view>

namespace coracle {
class runtime;
}

namespace coracle::net {

/// The service manager that started this process, systemd say, which wants to know how it is
/// (sd_notify(3), Type=notify). Without one everything here does nothing and succeeds. A message
/// that the manager's queue has no place for fails with `resource_unavailable_try_again`: `status`
/// and `alive` at once, the others, which are not to be lost, block the thread for up to a second
/// before. Thread-safe but for moving. Move-only.
class service_manager {
public:
    /// None.
    service_manager() noexcept = default;
    /// Returns the manager that NOTIFY_SOCKET names: a path, or the name of an abstract socket
    /// after
    /// "@". Takes the interval of its watchdog from WATCHDOG_USEC where WATCHDOG_PID is this
    /// process. Removes the variables from the environment, so that no child speaks for this
    /// process: call it before there are other threads. Fails with `invalid_argument` when a
    /// variable cannot be read.
    static std::expected<service_manager, error> from_environment();

    explicit operator bool() const noexcept { return static_cast<bool>(socket_); }

    /// The service has started, or finished reloading (READY=1).
    std::expected<void, error> ready() const { return notify("READY=1"); }
    /// It begins to reload its configuration (RELOADING=1); `ready` follows. `now` is that of a
    /// loop.
    std::expected<void, error> reloading(time_point now) const;
    /// It begins to end (STOPPING=1).
    std::expected<void, error> stopping() const { return notify("STOPPING=1"); }
    /// One line for people (STATUS=). Fails with `invalid_argument` when it has a line feed.
    std::expected<void, error> status(std::string_view text) const;
    /// Another process is the service from now on (MAINPID=): after a hand-over.
    std::expected<void, error> main_process(int pid) const;
    /// It is alive (WATCHDOG=1).
    std::expected<void, error> alive() const { return notify("WATCHDOG=1"); }
    /// Sends assignments, one a line.
    std::expected<void, error> notify(std::string_view assignments) const;

    /// The time without `alive` after which the manager takes the process for hung; zero: it does
    /// not watch.
    duration watchdog() const noexcept { return watchdog_; }
    /// Says `alive` at half of that interval, each time after every loop of `all` has had a turn: a
    /// loop that hangs is a process that hangs. Without a watchdog it waits for nothing. Resumes on
    /// the loop that awaits it; this and `all` must live until then. Ends when it is cancelled,
    /// with `operation_canceled`.
    operation<void> keep_alive(runtime& all) const;

private:
    owned_fd socket_;
    endpoint to_;
    duration watchdog_{};
};

}  // namespace coracle::net
