#pragma once

#include "http/message/token.hpp"

#include <string_view>

namespace coracle::http::detail {

/// Returns true for the name of a field in which a proxy tells of its client: Forwarded (RFC 7239),
/// X-Forwarded-For and its like.
inline bool is_forwarding_field(std::string_view name) noexcept {
    constexpr std::string_view start = "x-forwarded-";
    return equal_ignoring_case(name, "forwarded") ||
           equal_ignoring_case(name.substr(0, start.size()), start);
}

}  // namespace coracle::http::detail
