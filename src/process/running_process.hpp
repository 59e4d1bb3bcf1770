#pragma once

#include <coracle/base/error.hpp>
#include <coracle/process/exit_status.hpp>
#include <coracle/runtime/owned_fd.hpp>

#include <expected>
#include <optional>
#include <utility>

namespace coracle::process::detail {

/// A process that we have started. Kills and reaps it when destroyed, unless it was reaped.
class running_process {
public:
    running_process() noexcept = default;
    running_process(int pid, owned_fd pidfd, bool own_group) noexcept
        : pid_(pid), pidfd_(std::move(pidfd)), own_group_(own_group) {}
    running_process(running_process&& other) noexcept = default;
    running_process& operator=(running_process&&) = delete;
    ~running_process();

    int pid() const noexcept { return pid_; }
    int pidfd() const noexcept { return pidfd_.get(); }
    bool own_group() const noexcept { return own_group_; }

    /// Reaps the process if it has ended, and returns its status. The descriptor stays open, and
    /// readable, or others that wait for it would never be woken.
    std::expected<std::optional<exit_status>, error> try_reap() noexcept;
    std::expected<void, error> signal(int number) noexcept;
    std::expected<void, error> signal_group(int number) noexcept;
    /// From now on, kills the rest of the group when its leader ends.
    void ends_group() noexcept { ++endings_; }
    /// Kills the rest of the group when its leader ends while this lives.
    class group_ending {
    public:
        explicit group_ending(running_process& p) noexcept : process_(p) { ++process_.endings_; }
        group_ending(const group_ending&) = delete;
        group_ending& operator=(const group_ending&) = delete;
        ~group_ending() { --process_.endings_; }

    private:
        running_process& process_;
    };
    bool ended() const noexcept;
    /// Signals the process, or its whole group. EPERM when the process itself cannot be signalled.
    std::expected<void, error> signal_to_end(int number) noexcept;

    /// Returns the error of what there is no process for.
    static error gone(const char* operation, int pid) noexcept;
    /// Releases the process without ending it: init reaps it.
    void release() noexcept { pidfd_.reset(); }

private:
    int pid_ = -1;
    owned_fd pidfd_;
    bool own_group_ = false;
    unsigned endings_ = 0;  ///< reasons to end the group with its leader
    bool reaped_ = false;   ///< its number may belong to another process by now
};

}  // namespace coracle::process::detail
