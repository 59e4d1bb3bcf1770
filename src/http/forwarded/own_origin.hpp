#pragma once

#include "http/message/token.hpp"

#include <coracle/http/forwarded.hpp>
#include <coracle/http/request.hpp>

#include <string_view>

namespace coracle::http::detail {

/// Returns true if an Origin is that which the request itself was sent to, by the client that a
/// trusted proxy tells of. Not "http://x" for one that came by TLS: on its way such a page can be
/// changed.
inline bool is_own_origin(std::string_view origin, const request& req) {
    const std::string_view host = client_host(req);
    const std::size_t end = origin.find("://");
    if (end == origin.npos || host.empty()) return false;
    // A server that sees http may stand behind a proxy that is not known to it.
    if (client_scheme(req) == "https" && origin.substr(0, end) != "https") return false;
    return equal_ignoring_case(origin.substr(end + 3), host);
}

}  // namespace coracle::http::detail
