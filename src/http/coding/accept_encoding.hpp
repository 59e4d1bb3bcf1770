#pragma once

#include <coracle/http/coding.hpp>

#include <span>

namespace coracle::http {
class fields;
}

namespace coracle::http::detail {

/// Returns the coding of the response, of those `available` (the preferred first), by the
/// Accept-Encoding of a request (RFC 9110 section 12.5.3): the one with the highest weight, and
/// among equals the first. Identity when the request has no such field, names none of them, or
/// prefers identity; also when it refuses identity and all of them, for a response is better than
/// none. Members that are malformed are ignored.
content_coding negotiate_coding(const fields& request,
                                std::span<const content_coding> available) noexcept;

}  // namespace coracle::http::detail
