#pragma once

#include <optional>
#include <string>

namespace coracle::tool {

struct serve_settings;

/// Throws `failure` for a file that the settings name and that will not do, as far as that shows
/// without serving. Makes and changes none.
void check_files(const serve_settings& settings);

/// Returns what is wrong with the page of --spa, if anything is.
std::optional<std::string> fault_of_page(const serve_settings& settings);

/// Throws `failure` where no socket can be made at the path of --handover.
void check_handover(const serve_settings& settings);

}  // namespace coracle::tool
