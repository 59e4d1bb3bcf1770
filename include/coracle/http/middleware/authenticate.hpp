#pragma once

#include <coracle/http/handler.hpp>
#include <coracle/runtime/task.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::http {

/// The maker of a request, as `basic_authentication` and `bearer_authentication` leave it:
/// `req.data<identity>()`.
struct identity {
    std::string name;
};

struct authentication_options {
    /// The realm that is told to clients.
    std::string realm = "restricted";
    /// Serves requests without credentials too, without an identity but that of a middleware around
    /// it; wrong ones are refused all the same. Default: no.
    bool optional = false;
};

/// Middleware for the scheme Basic (RFC 7617): `check(user, password)`, a task, says whether they
/// are right. Without, or with wrong ones, the response is 401 with WWW-Authenticate. Take it over
/// TLS only. `check` is called from all loops; compare secrets with
/// `tls::equal_in_constant_time`.
class basic_authentication {
public:
    using check_function =
        std::function<task<bool>(std::string_view user, std::string_view password)>;
    explicit basic_authentication(check_function check, authentication_options options = {});
    task<response> operator()(request& req, const handler& next) const;

private:
    std::shared_ptr<const check_function> check_;
    authentication_options options_;
};

/// Middleware for bearer tokens (RFC 6750): `check(token)`, a task, gives the name of whom it
/// belongs to, or nothing. As `basic_authentication` in all else; a wrong token gets
/// error="invalid_token".
class bearer_authentication {
public:
    using check_function = std::function<task<std::optional<std::string>>(std::string_view token)>;
    explicit bearer_authentication(check_function check, authentication_options options = {});
    task<response> operator()(request& req, const handler& next) const;

private:
    std::shared_ptr<const check_function> check_;
    authentication_options options_;
};

}  // namespace coracle::http
