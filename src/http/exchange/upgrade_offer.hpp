#pragma once

#include <coracle/http/request.hpp>

#include <string_view>

namespace coracle::http::detail {

/// Returns true if a client offered all of `protocols`, a list, by Upgrade (RFC 9110 section 7.8).
/// A client of HTTP/1.0 cannot, nor one without Upgrade in Connection, nor HEAD, whose response
/// must have the fields of a GET. An extended CONNECT of HTTP/2 has both fields (`h2_stream`).
bool offers_upgrade(const request& req, std::string_view protocols) noexcept;

}  // namespace coracle::http::detail
