#pragma once

#include "http/client/call_state.hpp"

#include <coracle/base/buffer.hpp>
#include <coracle/base/url.hpp>

#include <optional>
#include <string_view>

namespace coracle::http::detail {

/// What stands in the head of a request besides its own fields.
struct head_extras {
    std::string_view cookies;              ///< Cookie; empty: none
    std::string_view authorization;        ///< Authorization; empty: none
    std::string_view proxy_authorization;  ///< Proxy-Authorization; empty: none
    bool whole_url = false;                ///< to a proxy that forwards
    bool without_credentials = false;      ///< after a redirect to another origin
    bool without_body = false;             ///< after a redirect that turned it into GET
    bool expect_continue = false;
    bool upgrades = false;
};

/// The target of a request to a proxy that forwards (RFC 9112 section 3.2.2).
std::string absolute_form(const url& to);

/// Appends the head of the request (RFC 9112 section 3) to `out`. `length` is that of the body;
/// nothing for a chunked one.
void write_request_head(buffer& out, std::string_view method, const url& to, const call_state& c,
                        const client_options& o, const head_extras& extras, bool has_body,
                        std::optional<std::uint64_t> length);

}  // namespace coracle::http::detail
