#pragma once

#include <coracle/base/error.hpp>
#include <coracle/http/files.hpp>
#include <coracle/http/request.hpp>
#include <coracle/http/response.hpp>

#include <string_view>

namespace coracle::http::detail {

/// Makes the response for a file that could not be opened. It is the same for missing files, paths
/// out of the root, and things that are not files.
response file_error_response(const request& req, const error& e);

/// As `file_error_response`, for a name that leads to nothing to serve with these options.
response lookup_error_response(const request& req, const file_options& options, const error& e);

/// Redirects to the path with a slash at its end. Relative, so that it holds after a proxy that
/// cuts a prefix; with "./" in front, so that no name looks like a scheme or a host.
response add_slash(const request& req, std::string_view path);

}  // namespace coracle::http::detail
