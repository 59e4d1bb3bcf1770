#pragma once

#include <coracle/base/error.hpp>
#include <coracle/base/log.hpp>
#include <coracle/base/url.hpp>
#include <coracle/http/client_options.hpp>

#include <expected>

namespace coracle::http::detail {

/// Returns the credentials for a request to `where`; scheme none: no authentication. The scheme is
/// that of the options, or Basic if they have none. User and password are those of the options,
/// else of the URL; with `client_options::netrc` that file supplies a missing password, or both.
/// Reading the file blocks. Fails with `invalid_argument` for Bearer without a token, and as
/// `load_netrc` does.
std::expected<credentials, error> credentials_for(const client_options& o, const url& where,
                                                  const logger& log);

}  // namespace coracle::http::detail
