#pragma once

#include "websocket/codec/deflate_offer.hpp"

#include <coracle/http/request.hpp>
#include <coracle/websocket/options.hpp>

#include <optional>
#include <string>
#include <string_view>

// The parts of a handshake that RFC 6455 section 4 and RFC 8441 share, and those that only the
// former has: a key, and the response to it.
namespace coracle::websocket::detail {

/// Returns the value of Sec-WebSocket-Accept for a key. Throws as `tls::digest`.
std::string accept_of(std::string_view key);

/// Returns whether it is a Sec-WebSocket-Key: 16 bytes in base64.
bool is_key(std::string_view text);

/// Makes an unpredictable key of 16 bytes.
std::string make_key(std::uint64_t first, std::uint64_t second);

/// Returns all values of a field as one list.
std::string joined(const http::fields& all, std::string_view name);

/// Returns whether the page that a browser sends this for may.
bool is_allowed(const http::request& req, const origins& allowed);

/// Returns the first of `ours` that is in the list `offered`; empty without.
std::string choose_subprotocol(std::string_view offered, const std::vector<std::string>& ours);

}  // namespace coracle::websocket::detail
