#pragma once

#include <coracle/http/h1/head.hpp>

#include <string_view>

namespace coracle::http::h1 {

/// Splits `head.target`, whose bytes are all legal, into form, scheme, path, query and host
/// (RFC 9112 section 3.2), by `head.method`. `none`, bad_target_form or bad_host.
[[nodiscard]] parse_error split_target(request_head& head) noexcept;

/// Returns true if `text` is host[:port] (RFC 9110 section 7.2, RFC 3986 section 3.2): a name, an
/// IPv4 address or an IP literal in brackets, and a port up to 65535, which may be empty. False for
/// an empty host and for user information.
[[nodiscard]] bool is_host(std::string_view text) noexcept;

}  // namespace coracle::http::h1
