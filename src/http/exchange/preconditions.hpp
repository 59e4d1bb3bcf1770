#pragma once

#include <coracle/http/request.hpp>
#include <coracle/http/response.hpp>

namespace coracle::http::detail {

/// Evaluates the preconditions of a request for a 200, with the validators that it names (RFC 9110
/// section 13). Returns false where they do not hold: then it has become a 304 or a 412.
bool meets_preconditions(const request& req, response& whole);

}  // namespace coracle::http::detail
