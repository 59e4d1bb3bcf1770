#pragma once

#include "command_tree.hpp"

namespace coracle::tool {

/// Return the scripts that complete the commands below `root` in a shell.
std::string bash_completion(const command_entry& root);
std::string zsh_completion(const command_entry& root);
std::string fish_completion(const command_entry& root);

}  // namespace coracle::tool
