#pragma once

#include <coracle/base/secret.hpp>
#include <coracle/http/handler.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace coracle::http {

/// The secret that a form has to bring, beside what the browser says of its origin.
enum class csrf_token : std::uint8_t {
    none,     ///< the origin alone decides
    cookie,   ///< that of a signed cookie (double submit)
    session,  ///< that of the `session`, whose middleware stands outside of this one
};

struct csrf_options {
    /// Other origins whose pages may send requests, as browsers write them:
    /// "https://app.example.com".
    std::vector<std::string> origins = {};
    csrf_token token = csrf_token::none;
    /// Signs the cookie: at least 32 bytes. Only for `csrf_token::cookie`.
    secret key = {};
    /// The field of a request with the token. Default "X-CSRF-Token".
    std::string field = "X-CSRF-Token";
    /// The name of the token in a form (application/x-www-form-urlencoded), which is read where the
    /// field is missing; empty: forms are not read. Default "csrf_token".
    std::string form_field = "csrf_token";
    /// The name of the cookie. Default "__Host-csrf", or "csrf" where `secure` is off.
    std::string cookie = {};
    bool secure = true;
    /// Refuses requests with neither Sec-Fetch-Site nor Origin, which no browser of these days
    /// sends. Default: no, so that programs are served.
    bool strict = false;
};

/// Middleware that refuses, by 403, requests that pages of other sites make a browser send
/// (cross-site request forgery), of all methods but GET, HEAD, OPTIONS and TRACE, which must change
/// nothing. Sec-Fetch-Site decides, else the Origin field, which must name the host of the request
/// (`client_host`; where the client came by https, that scheme as well). With a token the request
/// has to bring that, too.
///
///     routes.use(http::csrf());
class csrf {
public:
    /// Throws `exception` (invalid_argument) naming an option that is wrong.
    explicit csrf(csrf_options options = {});
    task<response> operator()(request& req, const handler& next) const;

    /// The token for the forms and the scripts of a page, another text each time (so that
    /// compression tells nothing of it), which stays valid as long as the cookie or the session.
    /// Scripts may send the value of the cookie as well. Throws `exception` (invalid_argument)
    /// where no `csrf` with tokens stands around the handler.
    static std::string token(request& req);

    class rules;

private:
    static task<bool> has_token(const rules* r, request* req);

    std::shared_ptr<const rules> rules_;
};

}  // namespace coracle::http
