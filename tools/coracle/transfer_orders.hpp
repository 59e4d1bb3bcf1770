#pragma once

#include "get_command.hpp"

#include <string>
#include <vector>

namespace coracle::tool {

/// One request of a command, and where its response goes.
struct transfer_order {
    std::string url;
    std::string shown;      ///< the URL without user and password
    std::string output;     ///< a path, or "-"
    std::string checksum;   ///< empty: any
    std::string upload;     ///< a path whose content is sent, "-": standard input; empty: none
    bool any_bytes = true;  ///< what is no text may go to a terminal
};

/// Makes the orders of a command, one for each URL that its arguments stand for. Throws `failure`
/// for what cannot be done, or where two of them would get in each other's way.
std::vector<transfer_order> orders_of(const get_settings& s);

}  // namespace coracle::tool
