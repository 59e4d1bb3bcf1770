#pragma once

#include "http/h2/head.hpp"

#include <coracle/http/h1/head.hpp>

#include <optional>
#include <string>
#include <vector>

namespace coracle::http::detail {

/// A request of HTTP/1.1 whose client offers to go on in HTTP/2 (RFC 7540 section 3.2): then the
/// response comes on stream 1. Move-only, as its request refers to its names.
struct h2c_offer {
    h2c_offer() = default;
    h2c_offer(h2c_offer&&) noexcept = default;
    h2c_offer& operator=(h2c_offer&&) noexcept = default;

    std::string settings;     ///< the payload of the client's SETTINGS
    h2::head request;         ///< refers to the bytes of the received head too
    std::vector<char> names;  ///< of its fields, in lower case
};

/// Returns the offer of a request in clear; nothing if there is none, or none that can be accepted:
/// it is for another protocol too, the request has a body or names no path, or the settings are
/// missing or malformed, or Connection names very much.
std::optional<h2c_offer> read_h2c_offer(const h1::request_head& from);

}  // namespace coracle::http::detail
