#pragma once

#include <coracle/http/handler.hpp>

namespace coracle::http {

struct exception_page_options {
    /// Shows exceptions only to clients on this machine that call it by a name of this machine
    /// ("localhost", a loopback address). All others get the usual response. Behind a proxy on this
    /// machine that adds no Forwarded, X-Forwarded-For or Via field all clients seem to be here:
    /// let it add one, and put `trust_proxies` outside. Default true.
    bool loopback_only = true;
};

/// Middleware for developers: the response to an exception that a handler did not mean (no
/// `status_error`) shows what was thrown: its type and text, those of the exceptions nested in it
/// (std::throw_with_nested), the request, its route and its fields. As HTML for clients whose
/// Accept names it (browsers), as problem details (RFC 9457) for those that name JSON, else as
/// text. The status stays, and the log has its line all the same.
///
///     if (is_development) routes.use(http::exception_page());
///
/// Values of fields and of the query whose name is that of a secret (Authorization, Cookie,
/// "token", "password"...) are "***". The path and the texts of exceptions are shown as they are:
/// use it where those may be seen.
class exception_page {
public:
    explicit exception_page(exception_page_options options = {}) noexcept : options_(options) {}
    handler operator()(handler inner) const;

private:
    exception_page_options options_;
};

}  // namespace coracle::http
