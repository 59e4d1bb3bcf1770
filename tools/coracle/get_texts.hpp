#pragma once

#include "get_command.hpp"
#include "get_options.hpp"

#include <string>
#include <vector>

namespace coracle::tool {

/// The texts of the arguments of `coracle get`, before they are interpreted.
struct get_options::texts {
    get_settings settings;
    std::vector<std::string> fields;
    std::vector<std::string> cookies;
    std::string referer;
    std::string range;
    std::string rate;
    std::string resume_at;
    double total = 0;
    double retry_delay = 0;
    unsigned redirects = 0;
    bool location = false;
    bool no_compressed = false;
    bool compressed = false;
    bool no_globbing = false;
    bool all_at_once = false;
    bool resume = false;
};

}  // namespace coracle::tool
