#pragma once

#include <coracle/http/response.hpp>

#include <exception>

namespace coracle::http {
class request;
}

namespace coracle::http::detail {

/// Returns the status for an error of reading the request, or 500.
status status_of(const error& e) noexcept;

/// Returns the sentence about a malformed body that its sender may see; empty where there is none.
std::string reason_of(const error& e);

/// Returns the response to a request whose handler threw `e`. Logs and counts it, unless it is a
/// `status_error` or the client's fault.
response failed_response(request& req, const std::exception_ptr& e);
/// Returns such a response with a body in any case, where no router is left that could make a page.
response last_failed_response(request& req, const std::exception_ptr& e);

}  // namespace coracle::http::detail
