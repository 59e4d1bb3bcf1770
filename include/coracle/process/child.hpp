#pragma once

#include <coracle/io/descriptor_stream.hpp>
#include <coracle/process/exit_status.hpp>
#include <coracle/runtime/operation.hpp>

#include <expected>
#include <memory>
#include <optional>

namespace coracle::process {

namespace detail {
struct child_state;
}

/// The default time that a process has to end after SIGTERM before it is killed (SIGKILL).
inline constexpr duration default_grace = std::chrono::seconds(5);

/// A process that was started by `command`. Belongs to the loop that started it. It is known by a
/// descriptor (pidfd), so that no signal goes to an unrelated process that has got its number;
/// nothing is done about SIGCHLD, and children of other code are left alone. (A program that
/// ignores SIGCHLD gets no status, ECHILD, and can signal no process of a group any more when its
/// leader has ended: ESRCH.)
///
/// A child that is destroyed while its process runs kills it (SIGKILL; its whole group where it has
/// one of its own), and reaps it, on the pool of `offload` when that takes time; a process that may
/// not be killed, since it has become another user's, is left alone. `detach` lets it live. No task
/// may wait when a child is destroyed or moved from.
class child {
public:
    child(child&&) noexcept;
    child& operator=(child&&) noexcept;
    ~child();

    int pid() const noexcept;
    /// Stays ours, and open as long as this; readable once the process has ended. `readable` of it
    /// fails with EBUSY while another task waits for the end: such a task needs a duplicate.
    int pidfd() const noexcept;

    /// The other ends of what is redirected to pipes; none of them otherwise.
    io::descriptor_stream& input() noexcept;   ///< to write to
    io::descriptor_stream& output() noexcept;  ///< to read from
    io::descriptor_stream& error() noexcept;   ///< to read from
    /// Ends what the process reads.
    void close_input() noexcept;

    /// Completes when the process has ended, with its status; any number of times. Its pipes may
    /// have bytes left, and its group others. Resumes from the loop. Cancelling it leaves the
    /// process as it is.
    operation<exit_status> wait();
    /// Waits as `wait` does, but cancelling it ends the process, as `terminate(grace)` does, and
    /// waits for that. Those of a group or session of its own that outlive its leader are killed.
    operation<exit_status> wait_or_end(duration grace = default_grace);
    /// Sends SIGTERM, and SIGCONT to have it heard; after `grace` SIGKILL. With a group or session
    /// of its own all of the group are meant, and those that outlive its leader are killed.
    /// Completes when it has ended. Fails with EPERM when it still runs after `grace` and may not
    /// be killed: a program that has become another user's. Resumes from the loop. Cancelling it
    /// ends the wait: then no process is killed.
    operation<exit_status> terminate(duration grace = default_grace);

    /// Returns the status if the process has ended, without waiting.
    std::optional<exit_status> status() noexcept;

    /// Sends a signal; ESRCH when it has ended.
    std::expected<void, coracle::error> signal(int number) noexcept;
    /// Sends a signal to all of its group; EPERM where it has none of its own.
    std::expected<void, coracle::error> signal_group(int number) noexcept;
    /// SIGKILL, to its group where it has one of its own.
    std::expected<void, coracle::error> kill() noexcept;

    /// Lets the process live. The loop reaps it when it ends, or init if the loop ends before. The
    /// child may then only be destroyed; its pipes are closed.
    void detach();

private:
    friend struct detail::child_state;
    explicit child(std::unique_ptr<detail::child_state> s) noexcept;
    std::unique_ptr<detail::child_state> state_;
};

}  // namespace coracle::process
