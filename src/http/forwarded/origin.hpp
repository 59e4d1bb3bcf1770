#pragma once

#include <string_view>

namespace coracle::http::detail {

/// Returns true if `text` is an origin as browsers write it (RFC 6454 section 6.2): in lower case,
/// without a path, and without the port of its scheme. Those of apps and extensions too:
/// "capacitor://localhost".
bool is_origin(std::string_view text);

}  // namespace coracle::http::detail
