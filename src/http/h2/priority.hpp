#pragma once

#include <cstdint>
#include <string_view>

namespace coracle::http::h2 {

/// The priority of a response (RFC 9218 section 4).
struct priority {
    std::uint8_t urgency = 3;  ///< 0, most urgent, to 7
    bool incremental = false;  ///< useful in parts, so that several may share the connection

    friend bool operator==(const priority&, const priority&) = default;
};

/// Parses the value of a Priority field or of a PRIORITY_UPDATE frame, a dictionary of RFC 8941.
/// Ignores members that are unknown or of the wrong type; returns the default if the value is
/// malformed.
[[nodiscard]] priority parse_priority(std::string_view value) noexcept;

}  // namespace coracle::http::h2
