#pragma once

#include <coracle/http/client.hpp>

#include <string_view>

namespace coracle::http {

/// What `forward_to` may be told.
struct forward_options {
    /// Sends the client's Host on, in place of that of the server behind. Default no.
    bool keep_host = false;
    /// Adds X-Forwarded-For, -Proto and -Host: who asked, and how, as far as `http::trust_proxies`
    /// has found it out, and which proxy is before us. What came in fields of these names, or in
    /// Forwarded, is not passed on: it may be the client's own. Default yes.
    bool tells_client = true;
    /// Appended to Via (RFC 9110 section 7.6.3); empty: no Via. Default "coracle".
    std::string_view via = "coracle";
    /// For the whole exchange with the server behind; zero: as the client has it.
    duration timeout{};
};

/// A handler that sends each request on to another server and streams the answer back: method,
/// target, fields and body as they came, but for the fields of the connection (RFC 9110 section
/// 7.6.1). The path of `base` goes before that of the request. Redirects, cookies and codings pass
/// untouched. 502 when the server behind cannot be reached or breaks the protocol, 504 when it
/// takes too long, 400 when the target leads out of the path of `base`. `client` must outlive the
/// handler. Throws `exception` when `base` is no URL.
///
///     routes.any("/api/{*rest}", http::forward_to(client, "http://10.0.0.7:9000"));
handler forward_to(client& client, std::string_view base, forward_options o = {});

}  // namespace coracle::http
