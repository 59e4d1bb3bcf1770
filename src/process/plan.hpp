#pragma once

#include <coracle/process/child.hpp>
#include <coracle/process/redirect.hpp>
#include <coracle/runtime/owned_fd.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::process::detail {

/// The settings of a `command`.
struct plan {
    struct variable {
        std::string name;
        std::optional<std::string> value;  ///< nothing: the variable is removed
    };
    struct mapped {
        int number;
        owned_fd fd;
    };

    std::string program;
    std::vector<std::string> arguments;  ///< the name first
    std::vector<variable> variables;
    bool clear_environment = false;
    std::vector<std::string> environment;  ///< NAME=VALUE; filled at the start
    std::string directory;
    redirect streams[3];
    std::vector<mapped> descriptors;
    owned_fd terminal;
    std::optional<error> failure;  ///< of something that was said
    bool new_session = false;
    bool own_group = false;
    duration grace = default_grace;
};

}  // namespace coracle::process::detail
