#pragma once

#include <string_view>

namespace coracle::http::detail {

/// Whether anybody may register names below `domain` ("com", "co.uk", "github.io"), as the list of
/// publicsuffix.org says; a name without a dot is one. `domain` is in lower case, Punycode. The
/// first call reads the system's list, where it is newer than that of libpsl. Thread-safe.
bool is_public_suffix(std::string_view domain);

}  // namespace coracle::http::detail
