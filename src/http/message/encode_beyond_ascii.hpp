#pragma once

#include <string>
#include <string_view>

namespace coracle::http::detail {

/// Percent-encodes the bytes beyond ASCII, which some clients send in targets and a Location may
/// not have (RFC 3986 section 2).
std::string encode_beyond_ascii(std::string_view target);

}  // namespace coracle::http::detail
