#pragma once

#include "command_tree.hpp"

namespace coracle::tool {

/// Returns the name of the page of a command: "coracle-smtp-send".
std::string page_name(const command_entry& command);

/// Returns the manual page of a command in section 1: troff with the macros of man(7).
std::string manual_page(const command_entry& command, const command_entry& root);

}  // namespace coracle::tool
