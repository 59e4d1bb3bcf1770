#pragma once

#include <coracle/http/client.hpp>

#include <chrono>
#include <functional>
#include <string_view>

namespace coracle::http {

class upstreams;

/// Options of `forward_to`.
struct forward_options {
    /// Sends the client's Host on, in place of that of the upstream server. Default no.
    bool keep_host = false;
    /// Adds X-Forwarded-For, -Proto and -Host: the client and its scheme, as far as
    /// `http::trust_proxies` has found them out, and the proxy before us. Forwarded and all fields
    /// whose names begin with X-Forwarded- are not passed on, since they may be the client's own;
    /// `change_fields` can set others of them. Default yes.
    bool tells_client = true;
    /// Appended to Via (RFC 9110 section 7.6.3); empty: no Via. Default "coracle".
    std::string_view via = "coracle";
    /// The timeout of the whole exchange with the upstream server; zero: as the client has it.
    duration timeout{};
    /// Taken from the begin of the path of each request, before the path of the upstream goes
    /// before it: "/api" makes "/users" of "/api/users", and with an upstream "http://10.0.0.7/v2"
    /// "/v2/users". Compared by whole segments, decoded. A request whose path does not begin with
    /// it gets 404. Default: none.
    std::string_view strip_prefix = {};
    /// Passes on fields of a request whose names have a "_". Programs that make variables of fields
    /// (CGI, WSGI) take "X_Forwarded_For" for "X-Forwarded-For", and so would believe a client what
    /// only this proxy may say. Default no.
    bool underscores = false;
    /// Passes requests for another protocol on ("Upgrade: websocket", or the extended CONNECT of
    /// HTTP/2, RFC 8441), and then the bytes of both sides. Each side may be HTTP/1.1 or HTTP/2.
    /// Without it, and with a body or for "h2c", they are passed on as plain requests. Default yes.
    bool upgrades = true;
    /// The time after which such a connection is closed if nothing has passed, also where one side
    /// takes nothing of what the other sends; zero: never. A drain does not end it: what is spoken
    /// there is not known, so it goes on until `server_timeouts::drain` is over. Default 1 h.
    duration upgraded_idle = std::chrono::hours(1);
    /// Changes the fields of each request on its way to an upstream, as the last that does: fields
    /// that are set here arrive. One that a handler or middleware sets in the request is passed on
    /// too, but the client can take it away: its Connection field may name it (RFC 9110 section
    /// 7.6.1). So what the upstream trusts, such as who has signed in, belongs here. Called on the
    /// loop of the request, once for each upstream that is tried; an exception ends the exchange as
    /// one of a handler does. Default: none.
    std::function<void(const request&, fields&)> change_fields{};
};

/// A handler that sends each request on to another server (the upstream) and streams the response
/// back: method, target, fields and body as they came, byte for byte, but for the fields of the
/// connection (RFC 9110 section 7.6.1), fields with a "_" in their names and bytes beyond ASCII in
/// the target, which are percent-encoded. The path of `base` goes before that of the request, and
/// with `strip_prefix` dot segments are resolved first; a path that `rewrite` has replaced is not
/// seen here. Redirects, cookies and codings pass
/// untouched, as do interim responses but 100 (none of a client with `hedge_after`; those that come
/// while the request is being sent once it was sent, or with the response), and trailers
/// both ways, of bodies whose length is not announced: of a request none in place of a field that
/// it has, that its Connection names, or that says who the client is, and none at all with
/// `change_fields`.
/// The response begins while the request goes on, and its head does not wait for its body. 502 when
/// the upstream cannot be reached or breaks the protocol, 504 when it takes too long, 503 when too
/// many requests wait for a connection (`pool_options::waiting`), 400 when the target leads out of
/// the path of `base`, also with its encoded slashes taken for slashes, or Connection is longer
/// than 1,024 bytes. `client` must outlive the handler. Throws `exception`
/// when `base` is no URL.
///
///     routes.any("/api/{*rest}", http::forward_to(client, "http://10.0.0.7:9000"));
handler forward_to(client& client, std::string_view base, forward_options o = {});

/// A handler that sends each request on to one of several upstreams, as above, and where that one
/// fails and it is safe, to another. 503 when none is left. `to` must outlive the handler.
handler forward_to(upstreams& to, forward_options o = {});

}  // namespace coracle::http
