#pragma once

#include <coracle/http/response.hpp>

#include <exception>

namespace coracle::http {
class request;
}

namespace coracle::http::detail {

/// Data of a request whose exceptions are to be shown to its client (`exception_page`).
struct exception_view {
    bool loopback_only;
};

/// Replaces the body of `out`, the response to the exception `e`, by what was thrown and at which
/// request, in the form that the client prefers; does nothing if the request has no
/// `exception_view`, or `e` is a `status_error`, which is meant to be a response. Without memory
/// `out` stays.
void show_exception(const request& req, const std::exception_ptr& e, response& out) noexcept;

}  // namespace coracle::http::detail
