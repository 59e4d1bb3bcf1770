#pragma once

#include "process/launch.hpp"

#include <coracle/process/child.hpp>
#include <coracle/process/command.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/task.hpp>

#include <expected>
#include <memory>
#include <optional>
#include <string>

namespace coracle::process::detail {

struct child_state {
    child_state(running_process p, std::string n)
        : process(std::move(p)), name(std::move(n)), pid(process.pid()) {}

    running_process process;
    std::string name;
    int pid;
    std::unique_ptr<io::descriptor_stream> streams[3];
    std::optional<exit_status> status;
    bool is_watched = false;  ///< a task waits on the descriptor
    event watch_over;         ///< for the others that wait for its end

    static child make(std::unique_ptr<child_state> s) { return child(std::move(s)); }
    static child_state& of(child& c) noexcept { return *c.state_; }
};

using end_result = std::expected<exit_status, error>;

task<end_result> wait_for_end(child_state& s);
task<end_result> wait_or_end(child_state& s, duration grace);
task<end_result> end_process(child_state& s, duration grace);
/// Ends the process, even in a cancelled task. Has no result, as no task could use it.
task<> end_shielded(child_state& s, duration grace);

task<std::expected<child, error>> start(std::unique_ptr<plan> p);
task<end_result> run(std::unique_ptr<plan> p);
task<std::expected<captured, error>> capture(std::unique_ptr<plan> p, capture_limits limits);

}  // namespace coracle::process::detail
