#pragma once

#include <string_view>

namespace coracle::http::detail {

/// Returns true if `domain` is a public suffix ("com", "co.uk", "github.io") by the list of
/// publicsuffix.org; a name without a dot always is. `domain` is in lower case, in Punycode. The
/// first call reads the system's list if it is newer than that of libpsl. Thread-safe.
bool is_public_suffix(std::string_view domain);

}  // namespace coracle::http::detail
