#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace coracle::tool {

/// Formats a JSON text (RFC 8259) with line breaks and two spaces for each level; does not change
/// numbers, strings and the order of members. Returns nothing if it is not JSON, or nested deeper
/// than 100 levels. `colours`: shows names and strings in colours of a terminal.
std::optional<std::string> lay_out_json(std::string_view text, bool colours);

}  // namespace coracle::tool
