#pragma once

#include <coracle/base/log.hpp>
#include <coracle/http/handler.hpp>

namespace coracle::http {

struct log_calls_options {
    log_level level = log_level::info;
    /// Logs the fields of request and response too. Default: no.
    bool fields = false;
};

/// An interceptor for clients, or a middleware for servers, that logs a line for each request to
/// the log of its loop (layer http) when its response is there, or it has failed:
///
///     GET https://example.com/boats?token=*** 200, 12.3 ms, attempt 2
///
/// Secrets are masked: user and password of URLs, values of the query whose name says token, key,
/// secret, password, signature, session or auth, and the values of Authorization,
/// Proxy-Authorization, Cookie, Set-Cookie and of other fields whose name says so.
class log_calls {
public:
    explicit log_calls(log_calls_options o = {}) noexcept : options_(o) {}
    task<response> operator()(request& req, const handler& next) const;

private:
    log_calls_options options_;
};

}  // namespace coracle::http
