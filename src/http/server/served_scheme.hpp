#pragma once

#include "http/message/token.hpp"

#include <string_view>

namespace coracle::http::detail {

/// Returns true if this server may serve a target of this scheme. RFC 9110 section 7.4: https is
/// not served without TLS, except for requests that a trusted gateway has taken out of TLS; no
/// server for HTTP serves other schemes. Over HTTP/2 every request has a scheme, and gateways that
/// end TLS pass on the one that their client sent (Envoy): there `https` says nothing of the
/// connection.
inline bool serves_scheme(std::string_view scheme, bool secure) noexcept {
    if (equal_ignoring_case(scheme, "http")) return true;
    return secure && equal_ignoring_case(scheme, "https");
}

}  // namespace coracle::http::detail
