#pragma once

#include <coracle/runtime/clock.hpp>

#include <cstdint>
#include <string>

namespace coracle::process {

/// The resources that a process used, with those of its children that it has waited for
/// (getrusage).
struct resource_usage {
    duration user_time{};           ///< of the processor, in its own code
    duration system_time{};         ///< of the processor, in the kernel for it
    std::uint64_t peak_memory = 0;  ///< bytes: the largest resident set
};

/// The status with which a process ended. A value.
class exit_status {
public:
    exit_status() noexcept = default;
    /// Makes the status of a process that returned `code` from main or called exit; below, of one
    /// that `signal` ended.
    static exit_status exited(int code, const resource_usage& u) noexcept {
        return {code, 0, false, u};
    }
    static exit_status killed(int signal, bool core_dumped, const resource_usage& u) noexcept {
        return {-1, signal, core_dumped, u};
    }

    /// Code 0.
    bool success() const noexcept { return code_ == 0; }
    /// 0 to 255; -1 when a signal ended it.
    int code() const noexcept { return code_; }
    /// The signal that ended it; 0 when none did.
    int signal() const noexcept { return signal_; }
    bool core_dumped() const noexcept { return core_dumped_; }
    const resource_usage& usage() const noexcept { return usage_; }
    /// "exited with 0", "killed by SIGSEGV, core dumped".
    std::string to_string() const;

private:
    exit_status(int code, int signal, bool core_dumped, const resource_usage& u) noexcept
        : code_(code), signal_(signal), core_dumped_(core_dumped), usage_(u) {}

    int code_ = 0;
    int signal_ = 0;
    bool core_dumped_ = false;
    resource_usage usage_;
};

}  // namespace coracle::process
