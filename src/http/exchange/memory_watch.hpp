#pragma once

#include <coracle/http/server.hpp>

#include <optional>

namespace coracle::http::detail {

/// Looks at the memory of the process for one loop, when there is something to decide, and at most
/// four times a second.
class memory_watch {
public:
    /// `of_the_system`: not a simulation, which has the memory of the test.
    memory_watch(const server_options& o, bool of_the_system);

    /// Returns true if `is_short` has to be called, which costs nothing most times.
    bool needs_a_look(time_point now) const noexcept { return now >= next_look_; }
    /// Returns true while more is used than `limits.memory_percent` allows.
    bool is_short(time_point now) noexcept;
    /// The memory used at the last look, as a share of what is allowed.
    double share() const noexcept { return share_; }

private:
    process::memory_use read() const noexcept;

    const server_options* options_;
    std::optional<process::cgroup_memory> groups_;
    double share_ = 0;
    time_point next_read_ = time_point::max();
    time_point next_look_ = time_point::max();  ///< in the past while memory is short
};

}  // namespace coracle::http::detail
