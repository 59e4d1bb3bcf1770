#pragma once

#include "http/client/call_state.hpp"

#include <coracle/base/url.hpp>

#include <optional>
#include <string_view>

namespace coracle::http::detail {

/// The head of a request to send, for every version of HTTP: the caller's parameters and the
/// client's additions. Holds views.
struct outgoing_head {
    std::string_view method;
    http::method known_method = method::other;
    const url* to = nullptr;
    const call_state* call = nullptr;
    const client_options* options = nullptr;

    std::string_view
        cookies;  ///< the Cookie field, with that of the call; empty: no cookies of the jar
    std::string_view authorization;        ///< the Authorization field; empty: none
    std::string_view proxy_authorization;  ///< the Proxy-Authorization field; empty: none
    bool whole_url = false;                ///< the proxy forwards the request
    bool without_credentials = false;      ///< after a redirect to another origin
    bool has_body = false;
    bool body_dropped = false;  ///< by a redirect that made it a GET
    bool expect_continue = false;
    bool upgrades = false;
    bool closes = false;       ///< the caller wants the connection closed behind it
    bool has_secrets = false;  ///< the bytes are overwritten after sending
    /// The size of the body; nothing if it is unknown.
    std::optional<std::uint64_t> length;

    /// The target of a CONNECT; empty for other methods.
    std::string_view tunnel() const noexcept { return call->more().tunnel; }
    bool has_own_host() const noexcept {
        return !without_credentials && call->fields.contains(field_id::host);
    }
};

/// Returns the request target for a forwarding proxy (RFC 9112 section 3.2.2).
std::string absolute_form(const url& to);

/// Returns true for a field of the caller that the client sets itself, or that must not be sent to
/// this host.
bool is_left_out(const field& f, const outgoing_head& head) noexcept;

/// Passes the fields of a request, except Host and the framing fields, to `pen.field(name, value)`
/// and `pen.length(bytes)`.
template <class Pen>
void write_fields(Pen& pen, const outgoing_head& h) {
    constexpr std::string_view codings = "gzip, deflate, br, zstd";
    const client_options& o = *h.options;
    const std::string& content_type = h.call->more().type;
    bool agent = !o.user_agent.empty();
    bool accept = true;
    bool encoding = o.accept_compression && h.tunnel().empty();
    bool type = h.has_body && !content_type.empty();
    bool authorization = !h.authorization.empty();
    for (const field& f : h.call->fields) {
        if (is_left_out(f, h)) continue;
        agent = agent && f.id != field_id::user_agent;
        accept = accept && f.id != field_id::accept;
        encoding = encoding && f.id != field_id::accept_encoding && f.id != field_id::range;
        type = type && f.id != field_id::content_type;
        authorization = authorization && f.id != field_id::authorization;
        // An empty one is the way to send none.
        if (f.id == field_id::accept && f.value.empty()) continue;
        pen.field(f);
    }
    if (agent) pen.field(field_id::user_agent, o.user_agent);
    if (accept) pen.field(field_id::accept, "*/*");
    if (encoding) pen.field(field_id::accept_encoding, codings);
    if (authorization) pen.field(field_id::authorization, h.authorization);
    if (!h.proxy_authorization.empty()) {
        pen.field(field_id::proxy_authorization, h.proxy_authorization);
    }
    if (!h.cookies.empty()) pen.field(field_id::cookie, h.cookies);
    if (type) pen.field(field_id::content_type, content_type);
    const bool sends_length = h.known_method == method::post || h.known_method == method::put ||
                              h.known_method == method::patch;
    if (h.has_body ? h.length.has_value() : sends_length) pen.length(h.has_body ? *h.length : 0);
    if (h.expect_continue) pen.field(field_id::expect, "100-continue");
}

}  // namespace coracle::http::detail
