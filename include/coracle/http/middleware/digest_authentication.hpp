#pragma once

#include <coracle/base/secret.hpp>
#include <coracle/http/handler.hpp>
#include <coracle/http/middleware/authenticate.hpp>
#include <coracle/runtime/task.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::http {

struct digest_options {
    /// The realm that is told to clients, and is part of what is stored of a password.
    std::string realm = "restricted";
    /// The time for which a nonce is taken, in whole seconds; then the client gets another one,
    /// without asking its user again. Default 5 min.
    std::chrono::seconds nonce_lifetime = std::chrono::minutes(5);
    /// Nonces whose uses are counted. Beyond it the one that was not used for longest is retired.
    /// Default 10,000.
    std::size_t nonces = 10'000;
};

/// Middleware for the scheme Digest (RFC 7616) with SHA-256 and qop=auth: the password is never
/// sent, and what was sent cannot be sent again (the nonce counts its uses, of which the last 64
/// may come in any order). It leaves an `identity`. Others get 401 with WWW-Authenticate. The
/// digest of a request has its method and target and none of its body, so it does not replace TLS.
/// A lock is taken for the time of a look-up.
class digest_authentication {
public:
    /// Gives what `stored_password` made for a user, or nothing for one that does not exist. Called
    /// from all loops; `user` lives until the task has ended.
    using lookup_function = std::function<task<std::optional<secret>>(std::string_view user)>;

    /// Throws `exception` (invalid_argument) naming an option that is wrong.
    explicit digest_authentication(lookup_function lookup, digest_options options = {});
    task<response> operator()(request& req, const handler& next) const;

    /// Returns all that has to be kept of a password: SHA-256 of user, realm and password. It is as
    /// secret as the password is for this realm.
    static secret stored_password(std::string_view user, std::string_view realm,
                                  std::string_view password);

    class rules;

private:
    std::shared_ptr<rules> rules_;
};

}  // namespace coracle::http
