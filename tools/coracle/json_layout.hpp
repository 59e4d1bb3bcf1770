#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace coracle::tool {

/// Formats a JSON text (RFC 8259) with line breaks and two spaces for each level; does not change
/// numbers, strings and the order of members. Returns nothing if it is not JSON, is nested deeper
/// than 100 levels, or would take more than 8 times its size and 1 MiB. `colours`: shows names and
/// strings in colours of a terminal.
std::optional<std::string> lay_out_json(std::string_view text, bool colours);

}  // namespace coracle::tool
